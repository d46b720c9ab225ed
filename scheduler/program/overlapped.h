// Launches that overlap, asked for beside any schedule.
#pragma once

#include <weft/scheduler/program/schedule.h>

namespace weft {

/// Whether launches for the target can begin before the one in front of them has ended.
bool can_overlap(const Target& target);

/// The schedule, and behind it overlap_launches of its weights; as it is where it has that step, and for a
/// target or an algorithm that cannot have it.
Schedule overlapped(Schedule schedule);

}  // namespace weft
