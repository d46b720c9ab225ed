// The space of the recipe v_n_m (scheduler/recipes/grouped/v_n_m.h).
#pragma once

#include <weft/search/spaces/space.h>

namespace weft {

std::string why_no_v_n_m(const SpaceProblem& problem, const Target& target);
Space v_n_m_space(const SpaceProblem& problem, const Target& target, const SpaceOptions& options);

}  // namespace weft
