// Warp, lane and thread loops that nest.
#pragma once

#include <weft/scheduler/program/step.h>

namespace weft::steps {

/// A thread has the same iteration of a loop wherever it stands: loops of the axis are nested alike in all
/// places. Precondition `number`.
std::optional<Reason> require_same_threads(const ir::Program& program, LoopKind axis, int number);

/// A refusal, of precondition `number`, unless nested warp, lane or thread loops are no more than `most`
/// together.
std::optional<Reason> require_fitting_threads(const ir::Program& program, LoopKind axis, std::int64_t most,
                                              int number);

}  // namespace weft::steps
