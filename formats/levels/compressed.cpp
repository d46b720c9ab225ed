#include <fmt/format.h>
#include <weft/formats/check_layout.h>
#include <weft/formats/levels/kinds.h>

#include <algorithm>

namespace weft::levels {
namespace {

std::int64_t check_arrays(const SparseTensor& tensor, const Level& level, std::int64_t parents) {
  const std::int64_t end = check_offset_array(tensor, level, parents);
  if (level.index.empty()) return end;
  check_array(tensor, level.index, Content::coordinates);
  const std::int64_t positions = tensor.array(level.index).size();
  if (end != positions)
    refuse_damaged(tensor, fmt::format("{}[{}]", level.begin, parents), std::to_string(end),
                   fmt::format("{}, the number of places that follow", positions));
  return positions;
}

void check_child(const CheckPlace& place, const Children&, const Child& child) {
  const Level& level = *place.levels[place.level].level;
  const std::int64_t last = std::max<std::int64_t>(0, place.tensor.columns() - level.extent);
  if (level.extent > 0 && child.coordinate > last)
    refuse_damaged(place.tensor, place.where(level.index, child.position),
                   fmt::format("column {}", child.coordinate), fmt::format("0 to {}", last));
}

}  // namespace

std::int64_t check_offset_array(const SparseTensor& tensor, const Level& level, std::int64_t parents) {
  check_array(tensor, level.begin, Content::offsets, parents + 1);
  const auto begin = tensor.array(level.begin).as<std::int32_t>();
  if (begin.front() != 0) refuse_damaged(tensor, level.begin + "[0]", std::to_string(begin.front()), "0");
  return begin.back();
}

Children between_offsets(const OpenLevel& open, std::int64_t parent, std::int64_t across) {
  const std::int64_t first = open.begin[parent];
  return {parent, across, first, open.begin[static_cast<std::size_t>(parent) + 1] - first};
}

void check_offsets(const CheckPlace& place, const Children& children) {
  const OpenLevel& open = place.levels[place.level];
  const std::int64_t end = children.first + children.count;
  if (children.count >= 0 && end <= open.begin.back()) return;
  refuse_damaged(place.tensor, place.where(open.level->begin, children.parent + 1),
                 fmt::format("offset {} after {}", end, children.first),
                 fmt::format("offsets that do not decrease and end by {}", open.begin.back()));
}

LevelKindRow compressed() {
  return {.kind = LevelKind::compressed,
          .name = "compressed",
          .children = between_offsets,
          .child = listed_child,
          .check_arrays = check_arrays,
          .check_children = check_offsets,
          .check_child = check_child,
          .ascending = listed_ascending};
}

}  // namespace weft::levels
