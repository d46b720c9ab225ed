// The conditions of a schedule with knobs, also of those that change what its steps make.
#pragma once

#include <weft/scheduler/limits/constraint.h>
#include <weft/scheduler/program/schedule.h>

#include <cstdint>
#include <vector>

namespace weft {

/// What a target asks of the schedule, and that its steps apply. Knobs that rewrites take as symbols stay
/// symbols; for every choice of the others (replayed_knobs) the steps are applied again. UserError where
/// those are very many.
std::vector<Constraint> constraints_of(const Schedule& schedule, std::int64_t resident_blocks);

}  // namespace weft
