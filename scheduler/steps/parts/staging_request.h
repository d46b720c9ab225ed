// What stage and stitch are asked for, and where they may stand.
#pragma once

#include <weft/scheduler/program/step_arguments.h>

#include <cstdint>
#include <optional>
#include <string>

namespace weft::steps {

/// `(B, shared, at = k.block, depth = 4)`
struct StagingRequest {
  std::string tensor;
  std::string scope;
  std::string at;  ///< empty: not said
  std::int64_t depth = 1;
};
StagingRequest staging_request_of(const StepArguments& arguments);

/// Precondition 1: the place is given, and a loop is called so.
std::optional<Reason> require_place(const ir::Program& program, const StagingRequest& request);
/// The refusal of precondition 3, where a loop's body reads no input of that name: whether there is such an
/// input, and whether what is read is a copy of it already.
Reason reads_no_such_input(const ir::Program& program, const StagingRequest& request,
                           const StepContext& context);
/// The step; where it is refused for what is asked of the place, with the places where it would apply, as the
/// user would write it.
StepResult at_place(const ir::Program& program, const StepArguments& arguments, const StepContext& context,
                    StepResult (*apply)(const ir::Program&, const StepArguments&, const StepContext&));
/// The same as a step's own function.
template <StepResult (*apply)(const ir::Program&, const StepArguments&, const StepContext&)>
StepResult proposing_places(const ir::Program& program, const StepArguments& arguments,
                            const StepContext& context) {
  return at_place(program, arguments, context, apply);
}

/// Precondition `number`: no warp, lane or thread loop stands around the loops called `at`, nor are they
/// such.
std::optional<Reason> require_reached_together(const ir::Program& program, const std::string& at, int number);

}  // namespace weft::steps
