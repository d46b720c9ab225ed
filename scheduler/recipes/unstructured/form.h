// Which form sparsert takes, and with which numbers, where it is not told.
#pragma once

#include <weft/scheduler/hardware/target.h>
#include <weft/scheduler/limits/constraint.h>
#include <weft/scheduler/recipes/parts/problem_summary.h>
#include <weft/scheduler/recipes/unstructured/cut.h>

#include <cstdint>

namespace weft {

/// Columns that a warp has at most where its pieces of rows are asked for by nobody.
inline constexpr std::int64_t columns_of_pieces = 64;

/// The form where pieces of rows are not worth it, or do not fit. `is_known`: the number of columns, which a
/// launch may give.
SparseRtForm form_beside_pieces(const BakedSize& size, bool is_known, const Target& target);
/// The form that the recipe takes, if rows fit the blocks of pieces.
SparseRtForm form_by_size(const BakedSize& size, bool is_known, const Target& target);

/// A point with what the recipe takes for the numbers that it leaves open, as far as a summary tells.
KnobValues filled_sparsert(const ProblemSummary& problem, const KnobValues& point, const Target& target);

}  // namespace weft
