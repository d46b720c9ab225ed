// The verb bench, for suites whose problems each have a type and a pattern of their own: what weft chooses
// beside the best that was found and the dense product.
#pragma once

#include <weft/backends/runtime/device.h>
#include <weft/search/measure/bench.h>
#include <weft/search/records/record_file.h>

#include <functional>
#include <string>
#include <vector>

namespace weft::tool {

struct MixedBench {
  std::vector<std::string> problems;  ///< ids; empty: all
  BenchOptions bench;
  std::size_t tries = 1;              ///< ways of which the fastest is what weft chooses
  std::vector<StoredRecord> records;  ///< trials that the best found is one of
  std::function<void(const std::string& line)> log;
};

/// Prints the table and the means. Returns the exit code. RuntimeError when the device fails.
int bench_mixed(const std::vector<Suite>& suites, const Device& device, const MixedBench& options);

}  // namespace weft::tool
