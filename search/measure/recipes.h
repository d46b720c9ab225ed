// The schedules that weft enters into a measurement, by name.
#pragma once

#include <weft/scheduler/schedule.h>
#include <weft/search/measure/workload.h>

#include <functional>
#include <string>
#include <vector>

namespace weft {

/// A recipe chooses its own format. InfeasibleError or UserError where it does not fit a workload: the table
/// then has an empty cell with the reason.
struct Recipe {
  std::string name;  ///< "default"
  std::function<Schedule(const Workload& workload, const Target& target)> schedule;
};

/// All of them. A new recipe is one line here.
const std::vector<Recipe>& recipes();

}  // namespace weft
