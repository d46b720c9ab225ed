// How matrices lie in the registers of a warp (PTX ISA, "Matrix fragments for mma"), and their product.
//
// One rule covers all multiplicands: with group = lane / 4 and member = lane % 4, register r of A holds row
// group + 8 * (r % 2) from byte width * member + 4 * width * (r / 2) of the row on, `width` being the bytes
// of a register (4; f64: 8). Register r of B holds column `group` from byte width * member + 4 * width * r
// on. A sparse A lies like a dense one of its stored elements. Accumulator i is in row group + 8 * (i / 2),
// column 2 * member + i % 2; f16 accumulators share a register by two.
#pragma once

#include <weft/backends/simulator/execute/matrix_numbers.h>
#include <weft/backends/simulator/machine/warp.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace weft::simulator::matrix {

constexpr int rows_of_warp = 16;     ///< rows of A and D, at most
constexpr int columns_of_block = 8;  ///< columns of B and D that are computed together
constexpr int most_stored = 32;      ///< elements of a row of A, at most
constexpr int most_inner = 64;       ///< the largest k

/// A as numbers, row by row, `most_stored` apart.
template <class T>
using RowsOfA = std::array<T, rows_of_warp * most_stored>;
/// Where the stored elements stand in k; the same layout.
using Positions = std::array<std::uint8_t, rows_of_warp * most_stored>;
/// Eight columns of B, k by k.
template <class T>
using BlockOfB = std::array<T, most_inner * columns_of_block>;
/// Eight columns of D, row by row.
template <class T>
using BlockOfD = std::array<T, rows_of_warp * columns_of_block>;

/// What the modifiers say, kept in Operation::flags.
struct Shape {
  int inner = 0;            ///< k
  int rows = rows_of_warp;  ///< 8 or 16; of wgmma, the 16 of a warp
  bool is_sparse = false;
  bool is_ordered = false;  ///< metadata has to be in increasing order
  bool saturates = false;   ///< integers stop at the ends of their range

  int stored() const { return is_sparse ? inner / 2 : inner; }
  std::uint32_t flags() const;
  static Shape of(const Operation& operation);
};

/// The indices of the stored elements, from the metadata registers of the warp's lanes; the source says where
/// they are. What is invalid is reported; the element then counts where its index says.
void read_metadata(Warp& warp, const Operation& operation, const Shape& shape, Element element,
                   const std::uint32_t* metadata, std::uint32_t selector, Positions& positions);

/// The elements of all lanes of a register, lane by lane.
template <Element element>
auto numbers_of_register(const void* from) {
  constexpr std::size_t count = std::size_t{lanes} * (element == Element::f64 ? 8 : 4) / bytes_of(element);
  std::array<Number<element>, count> numbers;
  if constexpr (element == Element::f16) {
    // Arrays that nothing else refers to, so that the loops vectorise.
    std::array<std::uint16_t, count> bits;
    std::array<float, count> values;
    std::memcpy(bits.data(), from, sizeof bits);
    for (std::size_t i = 0; i < count; ++i) values[i] = half_value(bits[i]);
    for (std::size_t i = 0; i < count; ++i) numbers[i] = values[i];
  } else {
    for (std::size_t i = 0; i < count; ++i) numbers[i] = number<element>(from, static_cast<int>(i));
  }
  return numbers;
}

/// A from registers: operands `first` on.
template <Element element>
void read_a(const Warp& warp, const Operation& operation, std::size_t first, const Shape& shape,
            RowsOfA<Number<element>>& a) {
  constexpr int width = element == Element::f64 ? 8 : 4;
  constexpr int in_register = width / bytes_of(element);
  const int parts = shape.rows / 8;
  const int registers = shape.stored() / (4 * in_register) * parts;
  for (int r = 0; r < registers; ++r) {
    const auto numbers =
        numbers_of_register<element>(warp.row(warp.operand(operation, first + static_cast<std::size_t>(r))));
    const int row = 8 * (r % parts), column = 4 * in_register * (r / parts);
    for (int group = 0; group < 8; ++group)
      std::copy_n(numbers.data() + group * 4 * in_register, 4 * in_register,
                  a.data() + (row + group) * most_stored + column);
  }
}

/// Eight columns of B from registers.
template <Element element>
void read_b(const Warp& warp, const Operation& operation, std::size_t first, const Shape& shape,
            BlockOfB<Number<element>>& b) {
  constexpr int width = element == Element::f64 ? 8 : 4;
  constexpr int in_register = width / bytes_of(element);
  for (int r = 0; r < shape.inner / (4 * in_register); ++r) {
    const auto numbers =
        numbers_of_register<element>(warp.row(warp.operand(operation, first + static_cast<std::size_t>(r))));
    Number<element>* const to = b.data() + 4 * r * in_register * columns_of_block;
    for (int k = 0; k < 4 * in_register; ++k) {
      for (int group = 0; group < 8; ++group)
        to[k * columns_of_block + group] = numbers.data()[group * 4 * in_register + k];
    }
  }
}

/// d += a * b, in the order of k. Floating numbers: in f64, where products of all types but f64 are exact
/// (f64 itself: fused); the caller rounds once. A tensor core adds an instruction's products in another order
/// and drops bits far below the largest product's, so it agrees exactly where every partial sum is
/// representable, as with small integers, and else within a bound that the conformance kernels state.
void add_product(const Shape& shape, const RowsOfA<double>& a, const Positions& positions,
                 const BlockOfB<double>& b, BlockOfD<double>& d);
void add_product(const Shape& shape, const RowsOfA<std::int32_t>& a, const Positions& positions,
                 const BlockOfB<std::int32_t>& b, BlockOfD<std::int32_t>& d);
void add_fused_product(const Shape& shape, const RowsOfA<double>& a, const BlockOfB<double>& b,
                       BlockOfD<double>& d);

/// Registers that eight columns of accumulators take.
constexpr int registers_of(Sum sum, int rows) {
  return sum == Sum::f16 ? rows / 8 : rows / 4;
}

/// Where accumulator `i` of a lane stands in its block.
constexpr std::size_t place(int lane, int i) {
  const int row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + i % 2;
  return static_cast<std::size_t>(row) * columns_of_block + static_cast<std::size_t>(column);
}

/// Eight columns of accumulators from the registers `first` on as the start of a sum: integers start at 0,
/// because their sums of products fit but their accumulators may wrap or saturate.
template <Sum sum, class T>
void start_sums(const Warp& warp, const Operation& operation, std::size_t first, int rows, BlockOfD<T>& d) {
  if constexpr (sum == Sum::s32) {
    d.fill(0);
    return;
  }
  for (int r = 0; r < registers_of(sum, rows); ++r) {
    const std::uint32_t* const from = warp.row(warp.operand(operation, first + static_cast<std::size_t>(r)));
    for (int lane = 0; lane < lanes; ++lane) {
      if constexpr (sum == Sum::f16) {
        d[place(lane, 2 * r)] = half_value(from[lane] & 0xFFFFU);
        d[place(lane, 2 * r + 1)] = half_value(from[lane] >> 16);
      } else if constexpr (sum == Sum::f32) {
        d[place(lane, r)] = static_cast<T>(std::bit_cast<float>(from[lane]));
      } else {
        std::memcpy(&d[place(lane, r)], from + 2 * lane, sizeof(double));
      }
    }
  }
}

/// Products added to a start that they may overflow.
inline std::uint32_t integer_sum(std::int32_t products, std::uint32_t start, bool saturates) {
  if (!saturates) return static_cast<std::uint32_t>(products) + start;
  constexpr std::int64_t least = std::numeric_limits<std::int32_t>::min(),
                         most = std::numeric_limits<std::int32_t>::max();
  const std::int64_t exact = std::int64_t{products} + static_cast<std::int32_t>(start);
  return static_cast<std::uint32_t>(std::clamp(exact, least, most));
}

constexpr std::size_t no_sums = ~std::size_t{0};
/// Rounds into the registers `to` on; integers are added to the accumulators from `from` on (not when it is
/// `no_sums`).
template <Sum sum, class T>
void finish_sums(Warp& warp, const Operation& operation, std::size_t from, std::size_t to, const Shape& shape,
                 const BlockOfD<T>& d) {
  for (int r = 0; r < registers_of(sum, shape.rows); ++r) {
    std::uint32_t* const words = warp.row(warp.operand(operation, to + static_cast<std::size_t>(r)));
    [[maybe_unused]] const std::uint32_t* old = nullptr;
    if (sum == Sum::s32 && from != no_sums)
      old = warp.row(warp.operand(operation, from + static_cast<std::size_t>(r)));
    for (int lane = 0; lane < lanes; ++lane) {
      if constexpr (sum == Sum::s32) {
        words[lane] = integer_sum(d[place(lane, r)], old == nullptr ? 0 : old[lane], shape.saturates);
      } else if constexpr (sum == Sum::f16) {
        words[lane] = half_bits(d[place(lane, 2 * r)]) | std::uint32_t{half_bits(d[place(lane, 2 * r + 1)])}
                                                             << 16;
      } else if constexpr (sum == Sum::f32) {
        words[lane] = single_bits(d[place(lane, r)]);
      } else {
        std::memcpy(words + 2 * lane, &d[place(lane, r)], sizeof(double));
      }
    }
  }
}

}  // namespace weft::simulator::matrix
