// Which loop a step would have taken in place of the one that it refused.
#pragma once

#include <weft/scheduler/program/step_arguments.h>

namespace weft::steps {

/// Which of the loops that would do is proposed.
enum class Proposed : std::uint8_t { outermost, innermost };

/// The reason, with the step for another loop in place of its first argument behind what is accepted. `apply`
/// is tried with each loop; where none will do, the reason as it is.
Reason with_other_loop(Reason refused, const ir::Program& program, const StepArguments& arguments,
                       const StepContext& context,
                       StepResult (*apply)(const ir::Program&, const StepArguments&, const StepContext&),
                       Proposed proposed);

}  // namespace weft::steps
