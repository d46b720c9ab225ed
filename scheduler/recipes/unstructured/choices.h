// What there is to choose from for unstructured weights, and about how long it takes.
#pragma once

#include <weft/scheduler/recipes/parts/recipe.h>
#include <weft/scheduler/recipes/unstructured/sparsert.h>

#include <cstdint>
#include <span>

namespace weft {

inline constexpr std::int64_t given_order = number_of(SparseRtOrder::given);
inline constexpr std::int64_t dealt_order = number_of(SparseRtOrder::dealt);

/// The order that the recipe would take (of SparseRtOrder) for each of these numbers of rows, as the knob
/// "rows" says it.
ir::Expr expected_order(const WeightMatrix& weights, std::span<const std::int64_t> rows);
/// Why there are no points for the problem on the target; nothing where there are.
std::string why_no_sparsert(const SpaceProblem& problem, const Target& target);
RecipeChoices sparsert_choices(const SpaceProblem& problem, PackedWeights& packed, const Target& target,
                               const SpaceOptions& options);
/// Those of convolutions.
RecipeChoices image_choices(const SpaceProblem& problem, const Target& target, const SpaceOptions& options);

namespace bounds {

/// The form of a point; of one that leaves it open, what the recipe takes.
SparseRtForm form_of(const ProblemSummary& problem, const KnobValues& point, const Target& target);

Bound of_unstructured(const ProblemSummary& problem, const KnobValues& point, const Target& target,
                      const Ceilings& ceilings);

}  // namespace bounds
}  // namespace weft
