// The space of the recipe sparsert (scheduler/recipes/unstructured/sparsert.h).
#pragma once

#include <weft/search/spaces/space.h>

#include <cstdint>
#include <span>

namespace weft {

/// The order that the recipe would take (of SparseRtOrder) for each of these numbers of rows, as the knob
/// "rows" says it.
ir::Expr expected_order(const WeightMatrix& weights, std::span<const std::int64_t> rows);
std::string why_no_sparsert(const SpaceProblem& problem, const Target& target);
Space sparsert_space(const SpaceProblem& problem, const Target& target, const SpaceOptions& options);

}  // namespace weft
