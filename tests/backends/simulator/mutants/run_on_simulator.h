// One run of a kernel of the mutation test on the simulator.
#pragma once

#include <set>
#include <string>

#include "kernels.h"

namespace weft::mutants {

/// In which order warps and asynchronous work run: LaunchOptions.
struct Order {
  std::uint64_t seed = 0;
  bool late = true;
};

struct Outcome {
  bool is_right = false;
  bool stopped = false;         ///< a deadlock ended the launch, so the result says nothing
  std::set<std::string> kinds;  ///< kinds of the findings
  std::string text;             ///< the report, and where the result is wrong

  bool is_clean() const { return is_right && kinds.empty(); }
};

/// The seed is also that of the data.
Outcome run_on_simulator(const Kernel& kernel, const std::string& ptx, const Order& order);

}  // namespace weft::mutants
