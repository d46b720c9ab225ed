// What stage and stitch are asked for, and where they may stand.
#pragma once

#include <weft/scheduler/program/step.h>

#include <cstdint>
#include <optional>
#include <string>

namespace weft::steps {

/// `(B, shared, at = k.block, depth = 4)`
struct StagingRequest {
  std::string tensor;
  std::string scope;
  std::string at;
  std::int64_t depth = 1;  ///< 0: no number
  std::int64_t parts = 0;  ///< of a row, for decode; 0: not said, or no number
};
StagingRequest staging_request_of(const Step& step);

/// Precondition 1: the place is given, and a loop is called so.
std::optional<Reason> require_place(const ir::Program& program, const StagingRequest& request);
/// The refusal of precondition 3, where a loop's body reads no input of that name: whether there is such an
/// input, and whether what is read is a copy of it already.
Reason reads_no_such_input(const ir::Program& program, const StagingRequest& request,
                           const StepContext& context);
/// The refusal, with the places where the step would apply, as the user would write it.
Reason with_places(Reason refused, const ir::Program& program, const Step& step, const StepContext& context,
                   StepResult (*apply)(const ir::Program&, const Step&, const StepContext&));

/// Precondition `number`: no warp, lane or thread loop stands around the loops called `at`, nor are they
/// such.
std::optional<Reason> require_reached_together(const ir::Program& program, const std::string& at, int number);

}  // namespace weft::steps
