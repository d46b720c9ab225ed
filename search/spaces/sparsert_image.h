// The part of sparsert's space that is for convolutions.
#pragma once

#include <weft/search/spaces/space.h>

namespace weft {

Space sparsert_image_space(const SpaceProblem& problem, const Target& target, const SpaceOptions& options);

/// Makes the schedule of a point of sparsert.
std::function<Schedule(const KnobValues&)> sparsert_points(const SpaceProblem& problem, const Target& target);

}  // namespace weft
