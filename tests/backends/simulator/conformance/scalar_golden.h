// Results of scalar kernels on a GPU, as tests/golden/simulator/scalar_sm90.txt keeps them: a line a kernel
// with its signature, a hash of every chunk of rows, the results of the first rows, its name.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "scalar_kernels.h"

namespace weft::simulator::scalar_tests {

struct Golden {
  std::uint64_t signature = 0;
  std::vector<std::uint64_t> hashes;  ///< by chunk; of kernels that are not exact, not to be compared
  std::vector<std::uint64_t> results;
};

std::uint64_t hash_of_chunk(const std::vector<std::uint64_t>& results, std::size_t chunk);
std::string golden_line(const Kernel& kernel, const std::vector<std::uint64_t>& results);
/// By name. Throws UserError for a line that is none.
std::map<std::string, Golden> read_golden(const std::string& path);

/// What is wrong with `results`, in one line; empty when nothing is.
std::string difference(const Kernel& kernel, const Golden& golden, const std::vector<std::uint64_t>& results);

}  // namespace weft::simulator::scalar_tests
