// What the spaces of shfl_bw and v_n_m share: tiles of weights in groups of rows on tensor cores.
#pragma once

#include <weft/scheduler/recipes/grouped/shfl_bw.h>
#include <weft/search/spaces/space.h>

#include <memory>
#include <optional>
#include <string>

namespace weft {

using GroupedRecipe = Schedule (*)(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights,
                                   const Target& target, const ShflBwKnobs& knobs,
                                   std::source_location place);

/// The point at which a schedule of one of them stands; nothing for a schedule of another recipe.
std::optional<KnobValues> grouped_point(const Schedule& schedule);

/// Why tensor cores of the target cannot multiply such weights in the algorithm, whatever their format;
/// nothing where they can.
std::string why_no_grouped_tiles(const SpaceProblem& problem, const Target& target);

/// Weights are packed anew in groups of as many rows as a tile has, and never more than the format asks for.
Space grouped_tiles_space(const SpaceProblem& problem, const Target& target, const SpaceOptions& options,
                          std::string recipe, GroupedRecipe schedule);

}  // namespace weft
