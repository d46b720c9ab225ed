// The space of the recipe shfl_bw (scheduler/shfl_bw.h).
#pragma once

#include <weft/search/space.h>

namespace weft {

std::string why_no_shfl_bw(const SpaceProblem& problem, const Target& target);
Space shfl_bw_space(const SpaceProblem& problem, const Target& target, const SpaceOptions& options);
/// The point of that space at which a schedule of the recipe stands; nothing for a schedule of another one.
std::optional<KnobValues> shfl_bw_point(const Schedule& schedule);

}  // namespace weft
