// How rows are stored in slices.
#pragma once

#include <weft/formats/format.h>

#include <cstdint>

namespace weft::formats {

/// Of a weight whose column numbers fit into 16 bits.
inline constexpr std::int64_t columns_of_16_bits = 32'768;

/// How sliced_ell cuts rows into slices: `sliced_ell({.slice = 8})`, written "sliced_ell:pad=4,slice=8".
struct SliceOptions {
  std::int64_t slice = 8;  ///< rows of a slice, 1 to 32: those that a warp takes at a time
  std::int64_t pad = 4;    ///< places of a row beside each other, 1 to 1024: those that are read at once
  /// Slices are dealt to blocks of so many slices, which get about equal numbers of places; 0: the longest
  /// come first.
  std::int64_t deal = 0;
  std::int64_t index = 32;  ///< bits of a column, 16 or 32; 16 for weights of at most columns_of_16_bits
};

/// Rows sorted by their length, in slices that are as wide as their longest row, as SELL-C-sigma with sigma
/// being all rows (Kreutzer, Hager, Wellein, Fehske, Bishop, "A unified sparse matrix data format for
/// efficient general sparse matrix-vector multiplication on modern processors with wide SIMD units", SIAM J.
/// Sci. Comput. 2014).
Format sliced_ell(const SliceOptions& options = {});

}  // namespace weft::formats
