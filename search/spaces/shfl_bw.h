// The space of the recipe shfl_bw (scheduler/recipes/grouped/shfl_bw.h).
#pragma once

#include <weft/search/spaces/space.h>

namespace weft {

std::string why_no_shfl_bw(const SpaceProblem& problem, const Target& target);
Space shfl_bw_space(const SpaceProblem& problem, const Target& target, const SpaceOptions& options);

}  // namespace weft
