// Two of four slots are kept in every row, with codes that say which. The values of a block are V rows of
// what is kept, half as many as the block has slots: as wide as a swizzled row of shared memory, they are
// stored in that order. Where a row has fewer than two entries among four slots, the last slots that are free
// are kept with the value +0.
#include <fmt/format.h>
#include <weft/dsl/arithmetic.h>
#include <weft/dsl/errors.h>
#include <weft/formats/kept_slots.h>
#include <weft/formats/named/kept_pairs.h>
#include <weft/formats/parallel.h>
#include <weft/formats/value_place.h>

#include <algorithm>
#include <span>

namespace weft::named {
namespace {

constexpr std::int64_t fewest_rows_of_pairs = 16, most_rows_of_pairs = 256;
constexpr std::int64_t fewest_slots = 64;
/// Values of a block fill lines of at most 128 bytes.
constexpr std::int64_t most_slots(DType values) {
  return size_of(values) == 1 ? 256 : 128;
}
/// Slots 2 and 3 of every quad.
constexpr std::uint32_t nothing_kept = 0xEEEEEEEE;

/// An entry of a row, and the slot of its column.
struct SlotEntry {
  std::int64_t slot = 0, entry = 0;
};

/// Fills values and codes row by row.
class PairPacker {
 public:
  PairPacker(const WeightMatrix& weights, const PairShape& shape, std::vector<std::int64_t> begins,
             std::int64_t of_quad, const std::vector<bool>& keeps_first)
      : weights_(weights),
        shape_(shape),
        begins_(std::move(begins)),
        of_quad_(of_quad),
        keeps_first_(keeps_first),
        swizzle_(swizzle_of_line(kept() * static_cast<std::int64_t>(size_of(weights.values.dtype())))),
        values_(weights.values.dtype(), {begins_.back(), shape.rows, kept()}),
        codes_(DType::i32,
               {begins_.back(), shape.rows / rows_of_words, shape.slots / slots_of_words, lanes_of_words}) {
    const std::span<std::int32_t> words = codes_.as<std::int32_t>();
    std::ranges::fill(words, static_cast<std::int32_t>(nothing_kept));
    const std::size_t of_block =
        begins_.back() == 0 ? 0 : words.size() / static_cast<std::size_t>(begins_.back());
    for (std::size_t block = 0; block < keeps_first_.size(); ++block) {
      if (keeps_first_[block])
        std::ranges::fill(words.subspan(block * of_block, of_block), keeps_first_slots);
    }
  }

  int swizzle() const { return swizzle_; }
  Array take_values() { return std::move(values_); }
  Array take_codes() { return std::move(codes_); }

  /// `slot_of`: of each column, -1 for those that have none. Several threads may, with entries of their own,
  /// for rows of different groups.
  void pack(std::int64_t row, const std::vector<std::int32_t>& slot_of, std::vector<SlotEntry>& entries) {
    entries.clear();
    for (const std::int64_t entry : weights_.entries(row))
      entries.push_back({slot_of[column_of(entry)], entry});
    if (!std::ranges::is_sorted(entries, {}, &SlotEntry::slot))
      std::ranges::sort(entries, {}, &SlotEntry::slot);
    for (std::size_t first = 0; first < entries.size();) {
      const std::int64_t quad = entries[first].slot / slots_of_quad;
      std::size_t last = first;
      while (last < entries.size() && entries[last].slot / slots_of_quad == quad) ++last;
      const std::span<const SlotEntry> together(entries.data() + first, last - first);
      if (const std::int64_t block = block_of(row, quad); keeps_first(block)) {
        for (const SlotEntry& each : together) copy_value(row, block, each.slot % shape_.slots, each.entry);
      } else {
        if (std::ssize(together) > kept_of_quad) refuse(row, together);
        keep(row, quad, together);
      }
      first = last;
    }
  }

 private:
  std::int64_t kept() const { return shape_.slots / 2; }
  std::size_t column_of(std::int64_t entry) const {
    return static_cast<std::size_t>(weights_.column_of(entry));
  }
  std::int64_t block_of(std::int64_t row, std::int64_t quad) const {
    return begins_[row / shape_.rows] + quad / (shape_.slots / slots_of_quad);
  }
  bool keeps_first(std::int64_t block) const {
    return !keeps_first_.empty() && keeps_first_[static_cast<std::size_t>(block)];
  }
  void copy_value(std::int64_t row, std::int64_t block, std::int64_t place, std::int64_t entry) {
    const std::int64_t value = (block * shape_.rows + row % shape_.rows) * kept() + place;
    values_.copy_element(swizzled_place(value, size_of(values_.dtype()), swizzle_), weights_.values, entry);
  }

  /// One or two entries.
  void keep(std::int64_t row, std::int64_t quad, std::span<const SlotEntry> entries) {
    const std::int64_t of_first = entries.front().slot % slots_of_quad;
    std::int64_t first = of_first;
    std::int64_t second = slots_of_quad - 1;
    if (std::ssize(entries) == kept_of_quad) {
      second = entries.back().slot % slots_of_quad;
    } else if (of_first == slots_of_quad - 1) {
      first = slots_of_quad - 2;
    }
    const std::int64_t quads = shape_.slots / slots_of_quad;
    const std::int64_t block = block_of(row, quad);
    const std::int64_t line = row % shape_.rows;
    const std::int64_t place = quad % quads * kept_of_quad;
    const auto at = code_place<std::int64_t>(line, place);
    const auto word =
        ((block * (shape_.rows / rows_of_words) + at.tile) * (shape_.slots / slots_of_words) + at.step) *
            lanes_of_words +
        at.lane;
    std::int32_t& codes = codes_.as<std::int32_t>()[word];
    constexpr std::uint32_t all_bits = 15;
    const std::int64_t shift = 2 * at.bits;
    codes = static_cast<std::int32_t>((static_cast<std::uint32_t>(codes) & ~(all_bits << shift)) |
                                      code_of(first, second) << shift);
    for (const SlotEntry& each : entries) {
      const bool is_second = each.slot != entries.front().slot || of_first != first;
      copy_value(row, block, place + (is_second ? 1 : 0), each.entry);
    }
  }

  [[noreturn]] void refuse(std::int64_t row, std::span<const SlotEntry> entries) const {
    const auto first = static_cast<std::int64_t>(column_of(entries.front().entry)) / of_quad_ * of_quad_;
    std::string columns;
    for (const SlotEntry& each : entries)
      columns += (columns.empty() ? "" : ", ") + std::to_string(column_of(each.entry));
    throw UserError(
        fmt::format("row {} has {} non-zeros in columns {}-{}, at most {} allowed", row, entries.size(),
                    first, std::min(first + of_quad_, weights_.columns) - 1, kept_of_quad),
        weights_.origin, "entries in columns " + columns,
        "weights pruned so: pruned(weights, choose_weights(weights, format, {})), or weft prune");
  }

  const WeightMatrix& weights_;
  PairShape shape_;
  std::vector<std::int64_t> begins_;  ///< the first block of each group, and of one behind the last
  std::int64_t of_quad_;
  const std::vector<bool>& keeps_first_;
  int swizzle_;
  Array values_, codes_;
};

}  // namespace

WeightMatrix without_zeros(const WeightMatrix& weights) {
  std::vector<std::int64_t> row_begin{0}, kept;
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    std::ranges::copy_if(weights.entries(row), std::back_inserter(kept),
                         [&](std::int64_t i) { return !weights.values.is_zero_bits(i); });
    row_begin.push_back(std::ssize(kept));
  }
  return chosen_entries(weights, std::move(row_begin), kept);
}

std::int64_t PairShape::groups_of(std::int64_t all_rows) const {
  return ceil_divide(all_rows, rows);
}

std::int64_t PairShape::blocks_of(std::int64_t quads) const {
  return ceil_divide(quads * slots_of_quad, slots);
}

PairShape pair_shape(const Format& format, std::int64_t rows, DType values) {
  return {power_of_two(format, "V", rows, fewest_rows_of_pairs, most_rows_of_pairs),
          power_of_two(format, "k", fewest_slots, fewest_slots, most_slots(values))};
}

Format with_places(Format format, std::int64_t places) {
  if (places != formats::PairOptions{}.places) format.parameters["k"] = places;
  return format;
}

std::vector<Level> pair_levels(const PairShape& shape, std::int64_t rows, Level blocks, Dimension kept) {
  return {
      {.dimension = Dimension::row, .extent = shape.groups_of(rows), .stride = shape.rows, .loop = "block"},
      {.dimension = Dimension::row, .extent = shape.rows, .loop = "row"},
      std::move(blocks),
      {.kind = LevelKind::n_of_m,
       .dimension = kept,
       .extent = shape.slots / 2,
       .index = "metadata",
       .loop = "place",
       .across = 1}};
}

SparseTensor pack_listed_pairs(const WeightMatrix& weights, const Format& format, const PairShape& shape,
                               const std::vector<SlotColumns>& columns, std::int64_t of_quad, Level blocks,
                               std::vector<SparseTensor::NamedArray> arrays) {
  std::vector<Level> levels = pair_levels(shape, weights.rows, std::move(blocks), Dimension::none);
  levels.push_back(padded_columns());
  std::vector<std::int32_t> listed;
  for (const SlotColumns& of_group : columns) listed.insert(listed.end(), of_group.begin(), of_group.end());
  arrays.push_back({"column", Array::of(listed)});
  return pack_pairs(weights, format, shape, columns, of_quad, std::move(levels), std::move(arrays));
}

SparseTensor pack_pairs(const WeightMatrix& weights, const Format& format, const PairShape& shape,
                        const std::vector<SlotColumns>& columns, std::int64_t of_quad,
                        std::vector<Level> levels, std::vector<SparseTensor::NamedArray> arrays,
                        const std::vector<bool>& keeps_first) {
  constexpr int rows_level = 1, blocks_level = 2, kept_level = 3;
  const std::int64_t groups = shape.groups_of(weights.rows);
  std::vector<std::int64_t> begins{0};
  for (std::int64_t group = 0; group < groups; ++group) {
    const std::int64_t slots = std::ssize(columns.size() > 1 ? columns[group] : columns.front());
    begins.push_back(begins.back() + ceil_divide(slots, shape.slots));
  }
  check_positions(weights, format, begins.back() * shape.slots * shape.rows,
                  "slots, all rows of a group having them");
  PairPacker packer(weights, shape, std::move(begins), of_quad, keeps_first);
  parallel_parts(threads_for(weights.stored()), groups,
                 [&](std::int64_t, std::int64_t first, std::int64_t end) {
                   std::vector<SlotEntry> entries;
                   std::vector<std::int32_t> slot_of(weights.columns, -1);
                   for (std::int64_t group = first; group < end; ++group) {
                     if (group == first || columns.size() > 1) {
                       const SlotColumns& of_group = columns.size() > 1 ? columns[group] : columns.front();
                       for (std::size_t slot = 0; slot < of_group.size(); ++slot) {
                         if (of_group[slot] >= 0) slot_of[of_group[slot]] = static_cast<std::int32_t>(slot);
                       }
                     }
                     const std::int64_t behind = std::min((group + 1) * shape.rows, weights.rows);
                     for (std::int64_t row = group * shape.rows; row < behind; ++row)
                       packer.pack(row, slot_of, entries);
                   }
                 });
  arrays.push_back({"metadata", packer.take_codes()});
  arrays.push_back({"values", packer.take_values()});
  return packed(weights, format, std::move(levels), std::move(arrays),
                {.levels = {blocks_level, rows_level, kept_level}, .swizzle = packer.swizzle()});
}

}  // namespace weft::named
