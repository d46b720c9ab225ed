#include <fmt/format.h>
#include <weft/formats/check_layout.h>
#include <weft/formats/levels/kinds.h>

#include <bit>

namespace weft::levels {
namespace {

constexpr std::int64_t halves = 2;  ///< halves of a word, the lower one first

std::uint64_t word_of(const OpenLevel& open, std::int64_t parent) {
  const auto words = open.codes->as<std::int32_t>();
  const auto half = [&](std::int64_t number) {
    return std::uint64_t{static_cast<std::uint32_t>(words[parent * halves + number])};
  };
  return half(0) | half(1) << 32;
}

Child child(const OpenLevel& open, const Children& children, std::int64_t number) {
  std::uint64_t word = word_of(open, children.parent);
  for (std::int64_t i = 0; i < number; ++i) word &= word - 1;
  return {children.first + number, number, std::countr_zero(word)};
}

std::int64_t check_arrays(const SparseTensor& tensor, const Level& level, std::int64_t parents) {
  check_array(tensor, level.index, Content::offsets, parents * halves);
  return check_offset_array(tensor, level, parents);
}

void check_level(const SparseTensor& tensor, std::size_t number) {
  const Level& level = tensor.levels()[number];
  if (level.dimension != Dimension::column || level.stride != 1)
    refuse_damaged(tensor, fmt::format("level {}", number), "a bitmap of other than columns",
                   "a bit for each of 64 columns");
}

void check_children(const CheckPlace& place, const Children& children) {
  check_offsets(place, children);
  const OpenLevel& open = place.levels[place.level];
  const std::uint64_t word = word_of(open, children.parent);
  if (std::popcount(word) != children.count)
    refuse_damaged(place.tensor, place.where(open.level->index, children.parent * halves),
                   fmt::format("{} bits, and {} values", std::popcount(word), children.count),
                   "a bit for each value");
  const std::int64_t last = place.column + 63 - std::countl_zero(word);
  if (word != 0 && last >= place.tensor.columns())
    refuse_damaged(place.tensor,
                   place.where(open.level->index, children.parent * halves + (last - place.column) / 32),
                   fmt::format("column {}", last), fmt::format("0 to {}", place.tensor.columns() - 1));
}

std::int64_t ascending(const OpenLevel&, const Children& children, std::int64_t) {
  return children.count;
}

}  // namespace

LevelKindRow bitmap() {
  return {.kind = LevelKind::bitmap,
          .name = "bitmap",
          .children = between_offsets,
          .child = child,
          .check_arrays = check_arrays,
          .check_level = check_level,
          .check_children = check_children,
          .ascending = ascending,
          .listed = false};
}

}  // namespace weft::levels
