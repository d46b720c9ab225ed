// How fast a point of a space can be: what the search ranks points by before anything was measured.
#pragma once

#include <weft/scheduler/recipes/parts/bound.h>

#include <string_view>

namespace weft {

/// A roofline of the kernel that `recipe` makes of the point: every resource with the rates of `ceilings`,
/// blocks in whole waves over the multiprocessors, resources that are needed at the same time joined by a
/// norm, and the launch on top. `point` has the recipe's knobs by name; one that is absent or 0 is taken as
/// the recipe would choose it. It knows nothing of the positions of the weights. A recipe of a user's own
/// gets the roofline without blocks, and so does any on a target that it is not for.
///
/// It grows with m, k and the stored weights, and with n among even and among odd numbers, while the point
/// stays the same. known_error.h says how near it is to measured kernels.
Bound bound_of(const ProblemSummary& problem, std::string_view recipe, const KnobValues& point,
               const Target& target, const Ceilings& ceilings);
Bound bound_of(const ProblemSummary& problem, std::string_view recipe, const KnobValues& point,
               const Target& target);

/// The point with what the recipe would take for the numbers that it leaves open, as far as it says so.
KnobValues filled_point(const ProblemSummary& problem, std::string_view recipe, const KnobValues& point,
                        const Target& target);

}  // namespace weft
