// Whether a schedule as a whole can be compiled, told with its steps: each of them may be right, and what
// they come to too much for the target.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/scheduler/program/schedule.h>

namespace weft {

/// Throws UserError where a number of the schedule is still open, with the step that left it so, and
/// InfeasibleError where its program exceeds a limit of `target`: with the step since which it does, the
/// numbers, and a change of a single number of the schedule with which all steps apply and everything fits.
void require_compilable(const Schedule& schedule, const Target& target, CallPlace place = {});

}  // namespace weft
