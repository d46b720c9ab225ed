// The steps before a refused one, changed so that it applies.
#pragma once

#include <weft/scheduler/program/schedule.h>

#include <string>

namespace weft {

/// ".vectorize(n.inner) (program.cpp:12)": a step as the user finds it again.
std::string with_place(const Step& step);

/// The program after the step, ready for the next one; or why it does not apply.
StepResult applied(const ir::Program& program, const Step& step, const StepContext& context);

/// How the schedule would have taken the refused step: "this step in front of …", or else "a schedule without
/// …", each of which was tried with every step of the schedule. Empty where neither helps, or where the step
/// names a loop that there is not, which is no fault of the order.
std::string steps_that_apply(const Schedule& schedule, const Step& refused, const Reason& reason);

/// What a step that a message proposes asks for in its turn: "; that step asks for …". Empty where it
/// applies.
std::string asked_before(const ir::Program& program, const Step& proposed, const StepContext& context);

}  // namespace weft
