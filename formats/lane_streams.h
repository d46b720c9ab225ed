// How weights lie in streams for the lanes of a warp: what a lane holds of the left operand of m16n8k16 (PTX
// ISA, "Matrix fragments"), two such tiles high. Columns of 32 are dealt so that each lane reads eight beside
// one another of the right operand.
#pragma once

#include <cstdint>

namespace weft {

/// A stream goes through groups of 32 rows of the weights. Its own rows hold two elements for each of 32
/// lanes.
constexpr std::int64_t rows_of_stream = 32, lanes_of_stream = 32, elements_of_lane = 2;
/// Columns that the 32 bits of a lane's word stand for, a bit for each element or for each two beside one
/// another; the word has two halves, which an element or 32 columns each have.
constexpr std::int64_t columns_of_bits = 32, columns_of_pairs = 64, bits_of_half = 16;
/// Rows that a lane is ahead of another one at most after each step, so that those of a stream that are in
/// use at a time are few: a lane that would fall behind has zeros.
constexpr std::int64_t most_rows_ahead = 32;

/// Where an element of 32 rows and the columns of a step stands: the lane, the half of its word, the bit
/// there, and which of the two elements of the lane it is. For numbers and for expressions.
template <class Number>
struct StreamPlace {
  Number lane, half, bit, element;
};

template <class Number>
StreamPlace<Number> stream_place(const Number& row, const Number& column, bool in_pairs) {
  const Number element = column % 2;
  const Number tile = column % 8 / 4 * 2 + row / 16;  // 16 rows, 16 columns; by columns
  return {row % 8 * 4 + column % 32 / 8, in_pairs ? Number(column / 32) : element,
          tile * 4 + column % 4 / 2 * 2 + row / 8 % 2, element};
}

}  // namespace weft
