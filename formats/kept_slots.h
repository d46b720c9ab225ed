// Which two of four: the codes of 2:4 sparsity, and the order in which sparse tensor cores read them (PTX
// ISA, "Sparse matrix storage" of m16n8k32; the same for each warp of wgmma.sp).
#pragma once

#include <weft/formats/array.h>

#include <cstdint>
#include <span>

namespace weft {

/// A quad is four slots of one row, of which two are kept. A 32-bit word has the codes of eight quads: four
/// quads after one another of a row in its low half, the same ones of the eighth row after it in its high
/// half. The words of 16 rows and 64 slots are those that the 32 lanes of a warp hold for two instructions.
constexpr std::int64_t slots_of_quad = 4, kept_of_quad = 2;
constexpr std::int64_t rows_of_words = 16, slots_of_words = 64, lanes_of_words = 32;

/// Where the code of a kept place stands: in the array of codes, [block][tile][step][lane], and in the word,
/// as the number of a pair of bits. For numbers and for expressions.
template <class Number>
struct CodePlace {
  Number tile, step, lane, bits;
};

/// Of the row in its group of rows, and of the place among those kept in the row.
template <class Number>
CodePlace<Number> code_place(const Number& row, const Number& place) {
  return {row / 16, place / 32, row % 8 * 4 + place % 32 / 8, row / 8 % 2 * 8 + place % 8};
}

/// The code of two slots of a quad, first < second.
constexpr std::uint32_t code_of(std::int64_t first, std::int64_t second) {
  return static_cast<std::uint32_t>(first | second << 2);
}

/// The words of a block that keeps each of its first slots, half of them, in place of two of four: no pair of
/// slots has the code 0. A block's words are all of this kind, or none is.
constexpr std::int32_t keeps_first_slots = 0;

/// The codes of a weight, read. The array has to outlive it.
class KeptSlots {
 public:
  KeptSlots() = default;
  /// `may_keep_first`: whether blocks may keep their first slots.
  explicit KeptSlots(const Array& codes, bool may_keep_first = false)
      : words_(codes.as<std::int32_t>()),
        tiles_(codes.shape().at(1)),
        steps_(codes.shape().at(2)),
        may_keep_first_(may_keep_first) {}

  /// The slot, among those of the block, of a kept place of a row.
  std::int64_t operator()(std::int64_t block, std::int64_t row, std::int64_t place) const {
    const auto at = code_place(row, place);
    const std::int64_t number = ((block * tiles_ + at.tile) * steps_ + at.step) * lanes_of_words + at.lane;
    if (may_keep_first_ && words_[number] == keeps_first_slots) return place;
    const auto word = static_cast<std::uint32_t>(words_[number]);
    return place / kept_of_quad * slots_of_quad + static_cast<std::int64_t>(word >> (2 * at.bits) & 3U);
  }

 private:
  std::span<const std::int32_t> words_;
  std::int64_t tiles_ = 0, steps_ = 0;
  bool may_keep_first_ = false;
};

}  // namespace weft
