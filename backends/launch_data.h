// What a launch of a kernel needs, for whoever does the launching.
#pragma once

#include <weft/backends/kernel.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace weft {

struct LaunchData {
  struct Memory {
    std::string name;
    std::size_t bytes = 0;
    const Array* source = nullptr;  ///< what it holds at first; null: a workspace
    bool begins_as_zero = false;    ///< a workspace that blocks meet in
  };
  std::string function;                ///< the kernel's name in its code
  std::array<std::int64_t, 3> grid{};  ///< of a GPU
  std::int64_t threads = 0;            ///< of a block
  std::int64_t shared_bytes = 0;       ///< of a block, those in the image included
  std::vector<Memory> memory;          ///< the first arguments, by address
  std::size_t output = 0;              ///< of `memory`
  std::vector<double> scalars;         ///< the next arguments
  std::vector<std::int64_t> extents;   ///< the last ones
  /// Scalars and extents as a GPU takes them, one an argument, its value in the low bytes.
  std::vector<std::uint64_t> words;
};

/// Borrows the arrays of the arguments and of the weights. UserError when the arguments do not fit the
/// algorithm, or an operand has 2^31 elements or more and the kernel indexes with 32 bits.
LaunchData launch_data(const Kernel& kernel, const Arguments& arguments);

}  // namespace weft
