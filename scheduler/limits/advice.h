// What a legal schedule leaves undone.
#pragma once

#include <weft/scheduler/program/schedule.h>

#include <string>
#include <vector>

namespace weft {

/// A sentence each, with the step that would help, for what is legal and hardly meant: a schedule for a GPU
/// that binds no loop, so that one thread computes everything. Empty where there is nothing to say.
std::vector<std::string> advice_on(const Schedule& schedule);

}  // namespace weft
