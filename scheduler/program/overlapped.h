// Launches that overlap, asked for beside any schedule.
#pragma once

#include <weft/scheduler/program/schedule.h>

namespace weft {

/// The schedule, and behind it overlap_launches of its weights; as it is where it has that step, and for a
/// target or an algorithm that cannot have it.
Schedule overlapped(Schedule schedule);

}  // namespace weft
