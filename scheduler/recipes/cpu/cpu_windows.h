// Windows of columns on a CPU: few columns of a product, of which each step picks 16 elements out of two
// registers. A recipe: it calls steps, as a user would.
#pragma once

#include <weft/scheduler/recipes/cpu/cpu_rows.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace weft {

/// How the recipe adds up; 0 leaves a number to it.
struct CpuWindows {
  std::int64_t sums = 0;  ///< vectors that the steps of a block are dealt to: 1, 2 or 4
};

/// They by name.
std::span<const KnobField<CpuWindows>> cpu_windows_knobs();

/// For a CPU and weights of f32 in column_windows, of at least 32 columns: SpMV, and products and linear
/// layers of up to eight columns whose number is known. 16 rows are summed at a time, in a lane each. With
/// AVX-512 the 32 elements of a column of the dense operand that a block may need are read once, into two
/// registers, out of which each step picks one for each row: what is read is values, a byte for each, and no
/// gather. Other processors read element by element. Columns that lie apart are transposed first. UserError
/// as cpu_rows().
Schedule cpu_windows(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                     const CpuWindows& knobs = {}, CallPlace place = {});
WEFT_RECIPE_REFUSED(cpu_windows, const CpuWindows& = {}, CallPlace = {})
WEFT_KNOB_REFUSED(cpu_windows, ".sums, such as {.sums = 2}")

}  // namespace weft
