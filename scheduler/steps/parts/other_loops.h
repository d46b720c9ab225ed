// Which loop a step would have taken in place of the one that it refused.
#pragma once

#include <weft/scheduler/program/step_arguments.h>

#include <initializer_list>

namespace weft::steps {

/// Which of the loops that would do is proposed.
enum class Proposed : std::uint8_t { outermost, innermost };

/// What `apply` does. A refusal of one of these preconditions has, behind what is accepted, the step for
/// another loop in place of its first argument: `apply` is tried with each loop; where none will do, it is as
/// it is.
StepResult or_other_loop(const ir::Program& program, const StepArguments& arguments,
                         const StepContext& context,
                         StepResult (*apply)(const ir::Program&, const StepArguments&, const StepContext&),
                         std::initializer_list<int> preconditions, Proposed proposed);

}  // namespace weft::steps
