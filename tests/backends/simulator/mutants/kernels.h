// The kernels of the mutation test: hand-written PTX beside this file, how each is launched, and what it has
// to compute. Values are whole numbers, so results are exact in any order.
#pragma once

#include <weft/backends/runtime/module.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft::mutants {

/// Memory of a kernel as 32-bit words; f16 values lie two in a word.
using Words = std::vector<std::uint32_t>;

/// A tensor map of a row-major matrix of f16: boxes of 64 x 64, swizzle of 128 bytes.
struct MapOfMatrix {
  std::size_t input = 0;  ///< which of the inputs
  std::uint64_t rows = 0, columns = 0;
};

/// The arguments are the inputs, the output, the scratch buffers and the maps, in this order.
struct Problem {
  std::vector<Words> inputs;
  Words expected;
  std::vector<std::size_t> scratch;  ///< words of buffers with nothing in them
  std::vector<MapOfMatrix> maps;
};

struct Kernel {
  const char* name;  ///< name of the file, without .ptx
  LaunchShape shape;
  Problem (*make)(std::uint64_t seed);
};

std::span<const Kernel> kernels();
/// UserError for a name that is none.
const Kernel& kernel_named(const std::string& name);

/// The PTX of a kernel, from the folder. RuntimeError when it cannot be read.
std::string read_ptx(const std::string& folder, const std::string& kernel);

}  // namespace weft::mutants
