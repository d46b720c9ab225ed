#include <fmt/format.h>
#include <weft/backends/simulator/execute/matrix_fragments.h>
#include <weft/dsl/dtype.h>

// The product is compiled for the processor at hand too, where the loader can choose. The sanitizers'
// run-time is not ready when it does.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WEFT_FOR_SEVERAL_PROCESSORS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WEFT_FOR_SEVERAL_PROCESSORS
#endif

namespace weft::simulator::matrix {
namespace {

constexpr std::uint32_t sparse_flag = 1U << 8, ordered_flag = 1U << 9, saturate_flag = 1U << 10,
                        half_rows_flag = 1U << 11;

/// Eight numbers that are computed together; unaligned, as they lie in arrays of T.
template <class T>
struct Eight {
  using type [[gnu::vector_size(sizeof(T) * columns_of_block), gnu::aligned(alignof(T)), gnu::may_alias]] = T;
};

template <bool is_sparse, class T>
[[gnu::always_inline]] inline void add_in_order(int rows, int stored, const T* a,
                                                const std::uint8_t* positions, const T* b, T* d) {
  using Line = typename Eight<T>::type;
  constexpr int rows_at_once = 4;  // as many sums as registers hold
  const auto* const lines = reinterpret_cast<const Line*>(b);
  auto* const sums = reinterpret_cast<Line*>(d);
  for (int row = 0; row < rows; row += rows_at_once) {
    Line s0 = sums[row], s1 = sums[row + 1], s2 = sums[row + 2], s3 = sums[row + 3];
    const T* const from = a + row * most_stored;
    const std::uint8_t* const at = is_sparse ? positions + row * most_stored : nullptr;
    const auto line = [&](int which, int k) { return lines + (is_sparse ? at[which * most_stored + k] : k); };
    for (int k = 0; k < stored; ++k) {
      s0 += from[k] * *line(0, k);
      s1 += from[most_stored + k] * *line(1, k);
      s2 += from[2 * most_stored + k] * *line(2, k);
      s3 += from[3 * most_stored + k] * *line(3, k);
    }
    sums[row] = s0;
    sums[row + 1] = s1;
    sums[row + 2] = s2;
    sums[row + 3] = s3;
  }
}

WEFT_FOR_SEVERAL_PROCESSORS
void add_doubles(int rows, int stored, const double* a, const double* b, double* d) {
  add_in_order<false>(rows, stored, a, nullptr, b, d);
}
WEFT_FOR_SEVERAL_PROCESSORS
void add_sparse_doubles(int rows, int stored, const double* a, const std::uint8_t* at, const double* b,
                        double* d) {
  add_in_order<true>(rows, stored, a, at, b, d);
}
WEFT_FOR_SEVERAL_PROCESSORS
void add_integers(int rows, int stored, const std::int32_t* a, const std::int32_t* b, std::int32_t* d) {
  add_in_order<false>(rows, stored, a, nullptr, b, d);
}
WEFT_FOR_SEVERAL_PROCESSORS
void add_sparse_integers(int rows, int stored, const std::int32_t* a, const std::uint8_t* at,
                         const std::int32_t* b, std::int32_t* d) {
  add_in_order<true>(rows, stored, a, at, b, d);
}

/// The two indices of a group of metadata. tf32 has one element in two, named by the 16-bit halves it takes.
bool is_valid(Element element, bool is_ordered, unsigned first, unsigned second) {
  if (element == Element::tf32) return first % 2 == 0 && second == first + 1;
  return is_ordered ? first < second : first != second;
}

}  // namespace

std::uint32_t Shape::flags() const {
  return static_cast<std::uint32_t>(inner) | (is_sparse ? sparse_flag : 0) | (is_ordered ? ordered_flag : 0) |
         (saturates ? saturate_flag : 0) | (rows == 8 ? half_rows_flag : 0);
}

Shape Shape::of(const Operation& operation) {
  const std::uint32_t flags = operation.flags;
  return {.inner = static_cast<int>(flags & 0xFFU),
          .rows = (flags & half_rows_flag) != 0 ? 8 : rows_of_warp,
          .is_sparse = (flags & sparse_flag) != 0,
          .is_ordered = (flags & ordered_flag) != 0,
          .saturates = (flags & saturate_flag) != 0};
}

std::uint16_t half_bits(double value) {
  if (std::isnan(value)) return 0x7FFF;
  const auto nearest = static_cast<float>(value);
  std::uint32_t bits = std::bit_cast<std::uint32_t>(nearest);
  if (static_cast<double>(nearest) != value && std::isfinite(nearest)) {
    if (std::abs(static_cast<double>(nearest)) > std::abs(value)) --bits;
    bits |= 1U;
  }
  return f16(std::bit_cast<float>(bits)).bits;
}

// Where metadata lies: four bits a group (of 4 columns; tf32: of 2), the group of the lowest columns lowest.
// Let `member` be the lane in its group of four, which serves the rows `group` and `group + 8`.
//   f16, bf16, tf32: 16 bits of a row follow each other, those of row group + 8 in the upper half of the
//     register. k of 16 (tf32: 8): member = selector. Twice that: members 2 * selector and 2 * selector + 1
//     hold the lower and the upper half of k.
//   8-bit types: 32 bits of a row follow each other, of row group + 8 in the odd members. k of 32: members
//     2 * selector and 2 * selector + 1. k of 64: members 0 and 1 for the lower half of k, 2 and 3 for the
//     upper.
void read_metadata(Warp& warp, const Operation& operation, const Shape& shape, Element element,
                   const std::uint32_t* metadata, std::uint32_t selector, Positions& positions) {
  const int bytes = bytes_of(element);
  const bool is_narrow = bytes == 1;
  const bool is_single = element == Element::tf32;
  const bool is_long = shape.stored() * bytes == 32;
  const std::uint32_t selectors = is_narrow == is_long ? (is_narrow ? 1 : 4) : 2;
  if (selector >= selectors) {
    warp.report(operation, "sparsity selector",
                fmt::format("the selector is {}; this shape has {} to {}", selector, 0, selectors - 1));
    selector = 0;
  }
  const int groups = shape.inner / (is_single ? 2 : 4);
  const int groups_of_piece = is_narrow ? 8 : 4;
  const int stored_of_group = is_single ? 1 : 2;
  for (int row = 0; row < rows_of_warp; ++row) {
    const int upper = row / 8;
    for (int group = 0; group < groups; ++group) {
      const int piece = group / groups_of_piece;
      const int wanted = static_cast<int>(selector);
      const int member = is_narrow ? upper + 2 * (is_long ? piece : wanted)
                         : is_long ? 2 * wanted + piece
                                   : wanted;
      const int lane = row % 8 * 4 + member;
      const int shift = group % groups_of_piece * 4 + (is_narrow ? 0 : 16 * upper);
      const std::uint32_t bits = metadata[lane] >> shift & 15U;
      const unsigned first = bits & 3U, second = bits >> 2;
      if (!is_valid(element, shape.is_ordered, first, second))
        warp.report(
            operation, "sparse metadata",
            fmt::format("row {}, columns {} to {}: indices {} and {} (bits {} to {}); {}", row,
                        group * (is_single ? 2 : 4), group * (is_single ? 2 : 4) + (is_single ? 1 : 3), first,
                        second, shift, shift + 3,
                        is_single          ? "tf32 has 0 and 1 or 2 and 3"
                        : shape.is_ordered ? "the first has to be the smaller"
                                           : "they have to differ"),
            lane);
      std::uint8_t* const to = positions.data() + row * most_stored + group * stored_of_group;
      if (is_single) {
        to[0] = static_cast<std::uint8_t>(2 * group + static_cast<int>(first / 2));
      } else {
        to[0] = static_cast<std::uint8_t>(4 * group + static_cast<int>(first));
        to[1] = static_cast<std::uint8_t>(4 * group + static_cast<int>(second));
      }
    }
  }
}

void add_product(const Shape& shape, const RowsOfA<double>& a, const Positions& positions,
                 const BlockOfB<double>& b, BlockOfD<double>& d) {
  if (shape.is_sparse)
    add_sparse_doubles(shape.rows, shape.stored(), a.data(), positions.data(), b.data(), d.data());
  else
    add_doubles(shape.rows, shape.stored(), a.data(), b.data(), d.data());
}

void add_product(const Shape& shape, const RowsOfA<std::int32_t>& a, const Positions& positions,
                 const BlockOfB<std::int32_t>& b, BlockOfD<std::int32_t>& d) {
  if (shape.is_sparse)
    add_sparse_integers(shape.rows, shape.stored(), a.data(), positions.data(), b.data(), d.data());
  else
    add_integers(shape.rows, shape.stored(), a.data(), b.data(), d.data());
}

void add_fused_product(const Shape& shape, const RowsOfA<double>& a, const BlockOfB<double>& b,
                       BlockOfD<double>& d) {
  for (int row = 0; row < shape.rows; ++row) {
    const double* const stored = a.data() + row * most_stored;
    double* const sums = d.data() + row * columns_of_block;
    for (int column = 0; column < columns_of_block; ++column)
      for (int k = 0; k < shape.inner; ++k)
        sums[column] = std::fma(stored[k], b.data()[k * columns_of_block + column], sums[column]);
  }
}

}  // namespace weft::simulator::matrix
