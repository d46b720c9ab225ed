// The space of the recipe v_n_m (scheduler/v_n_m.h).
#pragma once

#include <weft/search/space.h>

namespace weft {

std::string why_no_v_n_m(const SpaceProblem& problem, const Target& target);
Space v_n_m_space(const SpaceProblem& problem, const Target& target, const SpaceOptions& options);

}  // namespace weft
