// The space of the recipe sparsert (scheduler/sparsert.h).
#pragma once

#include <weft/search/space.h>

namespace weft {

std::string why_no_sparsert(const SpaceProblem& problem, const Target& target);
Space sparsert_space(const SpaceProblem& problem, const Target& target, const SpaceOptions& options);

}  // namespace weft
