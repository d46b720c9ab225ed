#include <weft/formats/levels/kinds.h>

namespace weft::levels {
namespace {

bool is_below_extent(const Level& level) {
  return level.extent > 0;
}

Children children(const OpenLevel&, std::int64_t parent, std::int64_t across) {
  return {parent, across, parent, 1};
}

std::int64_t check_arrays(const SparseTensor& tensor, const Level& level, std::int64_t parents) {
  check_array(tensor, level.index, is_below_extent(level) ? Content::inside_blocks : Content::coordinates,
              parents);
  return parents;
}

Child child(const OpenLevel& open, const Children& children, std::int64_t number) {
  Child child = listed_child(open, children, number);
  if (is_below_extent(*open.level)) child.padding = child.coordinate >= open.level->extent;
  return child;
}

std::int64_t ascending(const OpenLevel& open, const Children& children, std::int64_t extent) {
  return is_below_extent(*open.level) ? 0 : listed_ascending(open, children, extent);
}

}  // namespace

Child listed_child(const OpenLevel& open, const Children& children, std::int64_t number) {
  const std::int64_t position = children.first + number;
  const std::int64_t coordinate = open.index.empty() ? 0 : open.index[position];
  return {position, number, coordinate, open.level->padded && coordinate == -1};
}

std::int64_t listed_ascending(const OpenLevel& open, const Children& children, std::int64_t extent) {
  const std::span<const std::int32_t> index = open.index.numbers();
  if (index.empty()) return 0;
  std::int64_t count = 0;
  for (std::int64_t before = -1; count < children.count; ++count) {
    const std::int64_t here = index[children.first + count];
    if (here <= before || here >= extent) break;
    before = here;
  }
  return count;
}

LevelKindRow singleton() {
  return {.kind = LevelKind::singleton,
          .name = "singleton",
          .children = children,
          .child = child,
          .check_arrays = check_arrays,
          .ascending = ascending};
}

}  // namespace weft::levels
