#include <fmt/format.h>
#include <weft/formats/check_layout.h>
#include <weft/formats/kept_slots.h>
#include <weft/formats/levels/kinds.h>

namespace weft::levels {
namespace {

Children children(const OpenLevel& open, std::int64_t parent, std::int64_t across) {
  return {parent, across, parent * 2 * open.level->extent, open.level->extent};
}

/// Whether parents may keep their first slots.
KeptSlots slots_of(const OpenLevel& open) {
  return KeptSlots(*open.codes, !open.level->begin.empty());
}

Child child(const OpenLevel& open, const Children& children, std::int64_t number) {
  const std::int64_t slot = slots_of(open)(children.parent, children.across, number);
  return {children.first + slot, number, slot};
}

std::int64_t check_arrays(const SparseTensor& tensor, const Level& level, std::int64_t parents) {
  const std::int64_t rows = tensor.levels()[level.across].extent;
  const std::vector<std::int64_t> shape{parents, rows / rows_of_words, level.extent / (slots_of_words / 2),
                                        lanes_of_words};
  check_array(tensor, level.index, Content::offsets, element_count(shape, level.index));
  const Array& codes = tensor.array(level.index);
  if (codes.shape() != shape)
    refuse_damaged(tensor, "array " + level.index, "shape " + text_of_shape(codes.shape()),
                   "shape " + text_of_shape(shape));
  if (!level.begin.empty())
    check_array(tensor, level.begin, Content::offsets, tensor.levels().front().extent);
  return parents * 2 * level.extent;
}

/// Codes go by block, by row and by what is kept, and so do values.
void check_level(const SparseTensor& tensor, std::size_t number) {
  const Level& level = tensor.levels()[number];
  const int parent = parent_of(tensor.levels(), number);
  const bool across = level.across >= 0 && level.across < static_cast<int>(number);
  const Level& rows = tensor.levels()[across ? static_cast<std::size_t>(level.across) : number];
  const std::vector<int> order{parent, level.across, static_cast<int>(number)};
  const std::string where = fmt::format("level {}", number);
  if (parent < 0 || rows.kind != LevelKind::dense || tensor.value_order().levels != order)
    refuse_damaged(tensor, where, "values in another order than codes",
                   "values by its parent, by a dense level before it, and by itself");
  if (rows.extent % rows_of_words != 0 || level.extent < 1 || level.extent % (slots_of_words / 2) != 0)
    refuse_damaged(tensor, where, fmt::format("{} rows of {} kept places", rows.extent, level.extent),
                   fmt::format("a multiple of {} rows, of {} places", rows_of_words, slots_of_words / 2));
  if (!level.begin.empty() && tensor.levels().front().kind != LevelKind::dense)
    refuse_damaged(tensor, where, "an array " + level.begin,
                   "one of offsets for each child of a dense level 0");
}

/// Tensor cores read codes of all rows, also of those that fill up a group. Names the first column that the
/// quad may keep.
void check_child(const CheckPlace& place, const Children& children, const Child& child) {
  const OpenLevel& open = place.levels[place.level];
  if (child.number % kept_of_quad != 0) return;
  const std::int64_t next = slots_of(open)(children.parent, children.across, child.number + 1);
  if (next > child.coordinate) return;
  const std::int64_t first_slot = child.number / kept_of_quad * slots_of_quad;
  const bool is_last = place.level + 1 == place.levels.size();
  const std::int64_t column =
      is_last ? place.column + first_slot : place.levels[place.level + 1].index[children.first + first_slot];
  const std::int64_t first = child.coordinate - first_slot;
  const std::int64_t second = next - first_slot;
  refuse_damaged(
      place.tensor,
      fmt::format(
          "row {}, {}, {} of block {}",
          place.padding ? fmt::format("{} of the last group", children.across) : std::to_string(place.row),
          column < 0 ? "no column" : fmt::format("column {}", column), open.level->index, children.parent),
      fmt::format("code 0x{:X}, slots {} and {}", code_of(first, second), first, second),
      "two slots in ascending order: 0x4, 0x8, 0x9, 0xC, 0xD or 0xE");
}

}  // namespace

LevelKindRow n_of_m() {
  return {.kind = LevelKind::n_of_m,
          .name = "n_of_m",
          .children = children,
          .child = child,
          .check_arrays = check_arrays,
          .check_level = check_level,
          .check_child = check_child,
          .counted = true,
          .slots = 2,
          .listed = false};
}

}  // namespace weft::levels
