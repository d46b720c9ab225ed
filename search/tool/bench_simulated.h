// The verb bench, for suites with densities: clocks on the simulated sparse tensor core.
#pragma once

#include <weft/search/measure/suite.h>

#include <functional>
#include <string>

namespace weft::tool {

struct SimulatedBench {
  std::string data;  ///< a folder of weights; empty: made ones
  std::string plot;  ///< an SVG file to write; empty: none
  int orders = 5;    ///< orders of the simulated warps
  std::function<void(const std::string& line)> log;
};

/// Prints the table, writes the plot. Returns the exit code. UserError for a suite of something else than
/// products of f16.
int bench_simulated(const Suite& suite, const std::vector<SuiteCase>& cases, const SimulatedBench& options);

}  // namespace weft::tool
