// Loop order, for reorder and for tile.
#pragma once

#include <weft/scheduler/program/step.h>

#include <string>
#include <vector>

namespace weft::steps {

/// The named loops, which stand around one another, in the given order, outermost first. A loop over outputs
/// that is to stand inside the loop of the sum moves there: the sum becomes one register an iteration.
StepResult reorder_loops(const ir::Program& program, const std::vector<std::string>& order);

}  // namespace weft::steps
