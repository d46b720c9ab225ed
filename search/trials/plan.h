// A search whose device is on another machine: what to measure there goes into a folder, and what was
// measured comes back in it.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/search/records/records.h>
#include <weft/search/trials/candidates.h>

#include <map>
#include <string>
#include <vector>

namespace weft {

/// A folder with plan.json, and the weights and operands that are files beside it. Results are the database
/// results.jsonl.
struct Plan {
  std::map<std::string, std::string> source;  ///< flags of the problem, files as they are on this machine
  std::string target;
  std::vector<NamedPoint> points;  ///< the likeliest first
};

/// The names of a plan's files, in its folder.
std::string plan_file(const std::string& folder);
std::string results_file(const std::string& folder);

/// Writes the plan, and copies what its source names by `files` (flags whose values are paths). Where
/// the folder cannot be written, errors as refuse_path().
void write_plan(const std::string& folder, const Plan& plan, const std::vector<std::string>& files,
                CallPlace place = {});
/// The plan as it was written. UserError, naming the place in the file, when it is none or of another
/// version, or not there.
Plan read_plan(const std::string& folder, CallPlace place = {});
/// The source with files as they lie in the folder. Errors as read_plan().
std::map<std::string, std::string> source_in(const std::string& folder, const Plan& plan,
                                             CallPlace place = {});

}  // namespace weft
