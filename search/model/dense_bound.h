// The vendor's dense product: what a verdict is compared with where nothing was measured.
#pragma once

#include <weft/scheduler/recipes/parts/bound.h>
#include <weft/scheduler/recipes/parts/problem_summary.h>

#include <cstdint>

namespace weft {

/// What the library's kernels differ by: element types, and what all rows of the operands are multiples of.
enum class DenseKind : std::uint8_t {
  half_of_16,  ///< f16 and bf16, rows of 16 bytes
  half_of_4,   ///< f16 and bf16, rows of 8 and 4
  half_of_2,   ///< f16 and bf16, rows of an odd number of elements
  singles,     ///< f32, whatever its rows
  vector,      ///< one column, of any type
  convolution_of_halves,
  convolution,  ///< f32
  bytes,        ///< e4m3 and e5m2, summed in f32; i8 likewise, of which nothing was measured
};
DenseKind dense_kind_of(const ProblemSummary& problem);

/// The microseconds of cuBLAS's dense product of the same sizes, f32 without TF32, or of cuDNN's convolution
/// in the faster of its layouts: the launch, and beside one another what memory moves and tiles in whole
/// waves, by the tile and the number of blocks to a sum that are fastest. known_error.h says how near it is.
double dense_bound(const ProblemSummary& problem, const Ceilings& ceilings);

}  // namespace weft
