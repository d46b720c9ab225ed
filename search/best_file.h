// The outcome of a search for version control: a small file with the fastest schedule and what it was
// measured on, which `weft compile` and `weft run` take.
#pragma once

#include <weft/scheduler/schedule.h>
#include <weft/search/records.h>

#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// What the file says.
struct BestKernel {
  Record record;
  std::string format;       ///< of the weights that the steps apply to: "csr", "shfl_bw:V=64,k=32"
  std::vector<Step> steps;  ///< of the schedule
};

/// One JSON document, an item a line, the same for the same kernel.
std::string json_of_best(const Record& record, const Schedule& schedule);
/// True when a JSON text is such a file and not a bare list of steps.
bool is_best_file(std::string_view json);
/// UserError, naming `origin`, when it is none or of a later version.
BestKernel best_kernel_of(std::string_view json, const std::string& origin);

}  // namespace weft
