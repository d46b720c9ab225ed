// What there is to choose from for blocks on tensor cores, what the recipe chooses, and about how long it
// takes.
#pragma once

#include <weft/scheduler/recipes/parts/recipe.h>

namespace weft {

/// Why there are no points for the problem on the target; nothing where there are.
std::string why_no_hb_ell(const SpaceProblem& problem, const Target& target);
RecipeChoices hb_ell_choices(const SpaceProblem& problem, PackedWeights& packed, const Target& target,
                             const SpaceOptions& options);
/// Where blocks without entries are not stored, tile_m, tile_k and warp_m are 0: a tile is a block.
std::optional<KnobValues> hb_ell_point(const Algorithm& algorithm,
                                       std::shared_ptr<const SparseTensor> weights, const Target& target);

namespace bounds {

Bound of_blocks(const ProblemSummary& problem, const KnobValues& point, const Target& target,
                const Ceilings& ceilings);

}  // namespace bounds
}  // namespace weft
