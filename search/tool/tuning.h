// The problem of a command line as the search takes it, and back from a record.
#pragma once

#include <weft/search/measure/trial_problem.h>
#include <weft/search/tool/options.h>

#include <map>
#include <string>

namespace weft::tool {

/// The flags of a problem that are not at their defaults, for records.
std::map<std::string, std::string> source_of(const ProblemOptions& options);
/// The same flags again. UserError for one that there is not, or cannot be read.
ProblemOptions options_of_source(const std::map<std::string, std::string>& source);

/// Reads the weights and makes the problem, as make_problem(); notes go to stderr.
TrialProblem make_trial_problem(const ProblemOptions& options);

}  // namespace weft::tool
