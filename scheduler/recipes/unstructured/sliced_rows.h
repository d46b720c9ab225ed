// Unstructured weights and few columns: a row for every lane. A recipe: it calls steps, as a user would.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/scheduler/program/schedule.h>
#include <weft/scheduler/recipes/parts/knob.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace weft {

/// How the recipe cuts the work; 0 leaves a number to it.
struct SlicedRows {
  std::int64_t columns = 0;  ///< columns of a block, all of which a lane has: a power of two
  std::int64_t groups = 0;   ///< warps that share the sums of a slice of 32 rows
  std::int64_t slices = 0;   ///< slices that a block has at a time
  std::int64_t turns = 0;    ///< and how many of them one after the other
  std::int64_t places = 0;   ///< entries of a row that a lane reads at a time
  std::int64_t parts = 0;    ///< blocks that share the sums of a slice
};

/// They by name.
std::span<const KnobField<SlicedRows>> sliced_rows_knobs();

/// Sparse matrix times vector, or times a few columns: rows sorted by their length, in slices of 32, as
/// SELL-C-sigma (Kreutzer et al., SIAM J. Sci. Comput. 2014). A lane reads `places` values and column numbers
/// of its row at once, which for the lanes of a warp are one run of memory, and its row of the dense operand
/// from shared memory, where all of it lies; groups of warps, or of blocks where rows are few, share the
/// entries of a slice, so that enough loads are under way. For GPUs, weights in csr, SpMV, SpMM and linear
/// layers of a number of columns that is known. UserError for weights in other formats or of any size, other
/// algorithms, and knobs out of their ranges; a kernel whose columns of the dense operand do not fit shared
/// memory is refused when it is compiled.
Schedule sliced_rows(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                     const SlicedRows& knobs = {}, CallPlace place = {});
WEFT_RECIPE_REFUSED(sliced_rows, const SlicedRows& = {}, CallPlace = {})
WEFT_KNOB_REFUSED(sliced_rows,
                  ".columns, .groups, .slices, .turns, .places and .parts in this order, such as "
                  "{.columns = 4, .groups = 8}")

/// What the recipe knows of a problem.
struct FewColumns {
  std::string column = {}, dense = {};  ///< a loop and the dense operand; no loop of columns: a vector
  std::int64_t rows = 0, inner = 0;     ///< the weights are [rows, inner]
  std::int64_t stored = 0;              ///< entries
  std::int64_t columns = 1;             ///< the dense operand has so many
  std::int64_t bytes = 4;               ///< an element of it takes so many
  std::int64_t bytes_of_sum = 4;
};

/// Why the recipe does not take the algorithm; nothing where it does, and then `found` is set but for
/// `stored`.
std::string why_no_few_columns(const Algorithm& algorithm, FewColumns& found);

/// Bytes of values, or of a row of the dense operand, that a lane reads at once.
inline constexpr std::int64_t bytes_of_slice_load = 16;

/// What a block takes, for numbers and for expressions over knobs.
template <class Number>
struct SlicedShape {
  Number columns, groups, slices;

  Number threads() const { return groups * slices * Number(recipe_knobs::lanes_of_warp); }
  /// A row of zeros for the padding is one more.
  Number bytes_of_panel(const FewColumns& problem) const {
    return columns * Number((problem.inner + 1) * problem.bytes);
  }
  Number bytes_of_sums(const FewColumns& problem) const {
    return threads() * columns * Number(problem.bytes_of_sum);
  }
};

/// The knobs with those that are 0 chosen.
SlicedRows chosen_for(const SlicedRows& knobs, const FewColumns& problem, const Target& target);

}  // namespace weft
