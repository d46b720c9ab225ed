// The points of the recipe hb_ell.
#pragma once

#include <weft/search/spaces/space.h>

#include <string>

namespace weft {

/// Why there are none for the problem on the target; nothing where there are.
std::string why_no_hb_ell(const SpaceProblem& problem, const Target& target);
/// Tiles, how warps share them, stages and groups of the recipe (scheduler/recipes/blocks/hb_ell.h).
Space hb_ell_space(const SpaceProblem& problem, const Target& target, const SpaceOptions& options);

}  // namespace weft
