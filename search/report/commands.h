// What a reader of a report types next.
#pragma once

#include <weft/search/report/trials.h>

#include <string>
#include <vector>

namespace weft::report {

/// A line as a shell takes it, and what it is for.
struct Command {
  std::string what;
  std::string line;
};

/// Of a problem with a right trial whose records say where its weights are: its kernel again, and more trials
/// into `database`.
std::vector<Command> commands_of(const ProblemTrials& problem, const std::string& database);

/// Of the network that the records say their layers are of: more trials, and its package. None where no
/// record says so.
std::vector<Command> commands_of_network(const std::vector<ProblemTrials>& problems,
                                         const std::string& database);

}  // namespace weft::report
