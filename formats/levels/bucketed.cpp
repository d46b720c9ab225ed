#include <fmt/format.h>
#include <weft/formats/check_layout.h>
#include <weft/formats/levels/kinds.h>

#include <algorithm>

namespace weft::levels {
namespace {

Children children(const OpenLevel& open, std::int64_t parent, std::int64_t across) {
  const std::int64_t width = open.width[parent];
  return {parent, across, open.begin[parent] + across * width, width};
}

Child child(const OpenLevel& open, const Children& children, std::int64_t number) {
  const std::int64_t position = children.first + number;
  const bool is_number = children.count == open.level->extent;
  return {position, number, is_number ? number : open.index[position], open.values->is_zero_bits(position)};
}

/// The places of each parent lie one behind the other, in any order, and fill the array.
std::int64_t check_arrays(const SparseTensor& tensor, const Level& level, std::int64_t parents) {
  check_array(tensor, level.begin, Content::offsets, parents + 1);
  check_array(tensor, level.width, Content::offsets, parents);
  check_array(tensor, level.index, Content::inside_blocks);
  const std::int64_t numbered = tensor.array(level.index).size() * 8 / level.index_bits;
  const std::int64_t rows = tensor.levels()[level.across].extent;
  const auto begin = tensor.array(level.begin).as<std::int32_t>();
  const auto width = tensor.array(level.width).as<std::int32_t>();
  std::vector<std::pair<std::int64_t, std::int64_t>> ends_by_begin;
  for (std::size_t i = 0; i < width.size(); ++i) {
    if (width[i] < 0 || width[i] > level.extent)
      refuse_damaged(tensor, fmt::format("{}[{}]", level.width, i), std::to_string(width[i]),
                     fmt::format("0 to {}", level.extent));
    const std::int64_t end = begin[i] + rows * width[i];
    const std::int64_t most = width[i] == level.extent ? begin.back() : numbered;
    if (begin[i] < 0 || end > most)
      refuse_damaged(tensor, fmt::format("{}[{}]", level.begin, i),
                     fmt::format("places {} to {}", begin[i], end - 1), fmt::format("places below {}", most));
    ends_by_begin.emplace_back(begin[i], end);
  }
  std::ranges::sort(ends_by_begin);
  ends_by_begin.emplace_back(begin.back(), begin.back());
  std::int64_t end = 0;
  for (const auto& [first, behind] : ends_by_begin) {
    if (first != end)
      refuse_damaged(tensor, "array " + level.begin,
                     fmt::format("places from {} after others that end at {}", first, end),
                     "places that follow one another");
    end = behind;
  }
  return begin.back();
}

void check_level(const SparseTensor& tensor, std::size_t number) {
  const auto& levels = tensor.levels();
  const Level& level = levels[number];
  const bool last = number + 1 == levels.size() && tensor.value_order().levels.empty();
  const bool across = level.across >= 0 && level.across < static_cast<int>(number) &&
                      levels[level.across].kind == LevelKind::dense;
  if (last && across && (level.index_bits == 4 || level.index_bits == 8)) return;
  refuse_damaged(tensor, fmt::format("level {}", number), "a bucketed level",
                 "the last one, across a dense level, with indices of 4 or 8 bits");
}

void check_child(const CheckPlace& place, const Children&, const Child& child) {
  const Level& level = *place.levels[place.level].level;
  if (child.coordinate >= level.extent)
    refuse_damaged(place.tensor, place.where(level.index, child.position),
                   fmt::format("offset {}", child.coordinate), fmt::format("0 to {}", level.extent - 1));
}

}  // namespace

LevelKindRow bucketed() {
  return {.kind = LevelKind::bucketed,
          .name = "bucketed",
          .children = children,
          .child = child,
          .check_arrays = check_arrays,
          .check_level = check_level,
          .check_child = check_child};
}

}  // namespace weft::levels
