#include <fmt/format.h>
#include <weft/formats/check_layout.h>
#include <weft/formats/levels/kinds.h>

#include <algorithm>

namespace weft::levels {
namespace {

/// One across another level, whose child is its own.
bool is_repeated(const OpenLevel& open) {
  return open.level->across >= 0;
}

Children children(const OpenLevel& open, std::int64_t parent, std::int64_t across) {
  return {parent, across, parent * open.level->extent, is_repeated(open) ? 1 : open.level->extent};
}

Child child(const OpenLevel& open, const Children& children, std::int64_t number) {
  const std::int64_t own = is_repeated(open) ? children.across : number;
  return {children.first + own, own, own};
}

std::int64_t check_arrays(const SparseTensor& tensor, const Level& level, std::int64_t parents) {
  std::int64_t positions = 0;
  if (level.extent < 0 || __builtin_mul_overflow(parents, level.extent, &positions))
    refuse_damaged(tensor, "a dense level", fmt::format("extent {}", level.extent),
                   "at least 0, positions below 2^63");
  return positions;
}

void check_level(const SparseTensor& tensor, std::size_t number) {
  const Level& level = tensor.levels()[number];
  if (level.across < 0) return;
  const bool known = level.across < static_cast<int>(number);
  const Level& before = tensor.levels()[known ? static_cast<std::size_t>(level.across) : number];
  const bool same = known && before.kind == LevelKind::dense && before.extent == level.extent;
  if (!same || level.dimension != Dimension::none)
    refuse_damaged(tensor, fmt::format("level {}", number),
                   fmt::format("the children of level {}", level.across),
                   "a dense level before it, of the same extent, and no coordinate of its own");
}

std::int64_t ascending(const OpenLevel& open, const Children& children, std::int64_t extent) {
  return is_repeated(open) ? 0 : std::min(children.count, extent);
}

}  // namespace

LevelKindRow dense() {
  return {.kind = LevelKind::dense,
          .name = "dense",
          .children = children,
          .child = child,
          .check_arrays = check_arrays,
          .check_level = check_level,
          .ascending = ascending,
          .counted = true};
}

}  // namespace weft::levels
