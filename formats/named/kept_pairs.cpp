// Two of four slots are kept in every row, with codes that say which. The values of a block are V rows of
// what is kept, half as many as the block has slots: as wide as a swizzled row of shared memory, they are
// stored in that order. Where a row has fewer than two entries among four slots, the last slots that are free
// are kept with the value +0.
#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/formats/kept_slots.h>
#include <weft/formats/named/kept_pairs.h>
#include <weft/formats/value_place.h>

#include <algorithm>

namespace weft::named {
namespace {

constexpr std::int64_t fewest_rows = 16, most_rows = 256;
constexpr std::int64_t fewest_slots = 64, most_slots = 128;
/// Slots 2 and 3 of every quad.
constexpr std::uint32_t nothing_kept = 0xEEEEEEEE;

/// Fills values and codes row by row.
class Packer {
 public:
  Packer(const WeightMatrix& weights, const PairShape& shape, std::int64_t blocks, std::int64_t of_quad)
      : weights_(weights),
        shape_(shape),
        blocks_(blocks),
        of_quad_(of_quad),
        swizzle_(swizzle_of_line(kept() * static_cast<std::int64_t>(size_of(weights.values.dtype())))),
        values_(weights.values.dtype(), {shape.groups_of(weights.rows) * blocks, shape.rows, kept()}),
        codes_(DType::i32, {shape.groups_of(weights.rows) * blocks, shape.rows / rows_of_words,
                            shape.slots / slots_of_words, lanes_of_words}) {
    std::ranges::fill(codes_.as<std::int32_t>(), static_cast<std::int32_t>(nothing_kept));
  }

  int swizzle() const { return swizzle_; }
  Array take_values() { return std::move(values_); }
  Array take_codes() { return std::move(codes_); }

  /// `slot_of`: of each column, -1 for those that have none.
  void pack(std::int64_t row, const std::vector<std::int32_t>& slot_of) {
    const auto begin = weights_.row_begin[static_cast<std::size_t>(row)];
    const auto end = weights_.row_begin[static_cast<std::size_t>(row) + 1];
    for (std::int64_t entry = begin; entry < end;) {
      const std::int64_t quad = slot_of[column_of(entry)] / slots_of_quad;
      std::int64_t last = entry;
      while (last < end && slot_of[column_of(last)] / slots_of_quad == quad) ++last;
      if (last - entry > kept_of_quad) refuse(row, entry, last - entry);
      keep(row, quad, entry, slot_of, last - entry);
      entry = last;
    }
  }

 private:
  std::int64_t kept() const { return shape_.slots / 2; }
  std::size_t column_of(std::int64_t entry) const {
    return static_cast<std::size_t>(weights_.column[static_cast<std::size_t>(entry)]);
  }

  /// One or two entries.
  void keep(std::int64_t row, std::int64_t quad, std::int64_t entry, const std::vector<std::int32_t>& slot_of,
            std::int64_t count) {
    const std::int64_t of_first = slot_of[column_of(entry)] % slots_of_quad;
    std::int64_t first = of_first;
    std::int64_t second = slots_of_quad - 1;
    if (count == kept_of_quad) {
      second = slot_of[column_of(entry + 1)] % slots_of_quad;
    } else if (of_first == slots_of_quad - 1) {
      first = slots_of_quad - 2;
    }
    const std::int64_t quads = shape_.slots / slots_of_quad;
    const std::int64_t block = row / shape_.rows * blocks_ + quad / quads;
    const std::int64_t line = row % shape_.rows;
    const std::int64_t place = quad % quads * kept_of_quad;
    const auto at = code_place<std::int64_t>(line, place);
    const auto word =
        ((block * (shape_.rows / rows_of_words) + at.tile) * (shape_.slots / slots_of_words) + at.step) *
            lanes_of_words +
        at.lane;
    std::int32_t& codes = codes_.as<std::int32_t>()[static_cast<std::size_t>(word)];
    constexpr std::uint32_t all_bits = 15;
    const std::int64_t shift = 2 * at.bits;
    codes = static_cast<std::int32_t>((static_cast<std::uint32_t>(codes) & ~(all_bits << shift)) |
                                      code_of(first, second) << shift);
    const std::int64_t value = (block * shape_.rows + line) * kept() + place;
    for (std::int64_t i = 0; i < count; ++i) {
      const bool is_second = i > 0 || of_first != first;
      values_.copy_element(swizzled_place(value + (is_second ? 1 : 0), size_of(values_.dtype()), swizzle_),
                           weights_.values, entry + i);
    }
  }

  [[noreturn]] void refuse(std::int64_t row, std::int64_t entry, std::int64_t count) const {
    const auto first = static_cast<std::int64_t>(column_of(entry)) / of_quad_ * of_quad_;
    std::string columns;
    for (std::int64_t i = 0; i < count; ++i)
      columns += (i == 0 ? "" : ", ") + std::to_string(column_of(entry + i));
    throw UserError({fmt::format("row {} has {} non-zeros in columns {}-{}, at most {} allowed", row, count,
                                 first, std::min(first + of_quad_, weights_.columns) - 1, kept_of_quad),
                     weights_.origin, "entries in columns " + columns,
                     "weights pruned so, as weft prune does"});
  }

  const WeightMatrix& weights_;
  PairShape shape_;
  std::int64_t blocks_, of_quad_;
  int swizzle_;
  Array values_, codes_;
};

}  // namespace

std::int64_t PairShape::groups_of(std::int64_t all_rows) const {
  return (all_rows + rows - 1) / rows;
}

std::int64_t PairShape::blocks_of(std::int64_t quads) const {
  return (quads * slots_of_quad + slots - 1) / slots;
}

PairShape pair_shape(const Format& format, std::int64_t rows) {
  return {power_of_two(format, "V", rows, fewest_rows, most_rows),
          power_of_two(format, "k", fewest_slots, fewest_slots, most_slots)};
}

SparseTensor pack_pairs(const WeightMatrix& weights, const Format& format, const PairShape& shape,
                        const std::vector<SlotColumns>& columns, std::int64_t of_quad,
                        std::vector<Level> levels, std::vector<SparseTensor::NamedArray> arrays) {
  constexpr int rows_level = 1, blocks_level = 2, kept_level = 3;
  const std::int64_t blocks = levels.at(blocks_level).extent;
  check_positions(weights, format, shape.groups_of(weights.rows) * blocks * shape.slots * shape.rows,
                  "slots, all rows of a group having them");
  Packer packer(weights, shape, blocks, of_quad);
  std::vector<std::int32_t> slot_of(static_cast<std::size_t>(weights.columns), -1);
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    const std::int64_t group = row / shape.rows;
    if (row % shape.rows == 0 && (group == 0 || columns.size() > 1)) {
      const SlotColumns& of_group = columns[static_cast<std::size_t>(group)];
      for (std::size_t slot = 0; slot < of_group.size(); ++slot) {
        if (of_group[slot] >= 0)
          slot_of[static_cast<std::size_t>(of_group[slot])] = static_cast<std::int32_t>(slot);
      }
    }
    packer.pack(row, slot_of);
  }
  arrays.push_back({"metadata", packer.take_codes()});
  arrays.push_back({"values", packer.take_values()});
  return SparseTensor(format, weights.shape, weights.rows, weights.columns, std::move(levels),
                      std::move(arrays),
                      {.levels = {blocks_level, rows_level, kept_level}, .swizzle = packer.swizzle()});
}

}  // namespace weft::named
