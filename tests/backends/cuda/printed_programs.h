// Programs that tests of the printer print: one of each kind that reaches it.
#pragma once

#include <weft/scheduler/passes/lower.h>

#include <string>
#include <vector>

namespace weft::test {

struct PrintedProgram {
  std::string name;      ///< name of the case
  std::string computes;  ///< the algorithm as text
  ThreadProgram program;
};

/// Every program, lowered for a GPU target. All of them run on every architecture.
std::vector<PrintedProgram> printed_programs(const Target& target);
/// The one of that name.
PrintedProgram printed_program(const std::string& name, const Target& target);

}  // namespace weft::test
