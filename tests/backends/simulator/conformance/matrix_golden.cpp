#include "matrix_golden.h"

#include <fmt/format.h>
#include <weft/dsl/errors.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace weft::simulator::testing {

std::uint64_t signature_of(const MatrixKernel& kernel) {
  return XXH64(kernel.input.data(), kernel.input.size() * 4, XXH64(kernel.ptx.data(), kernel.ptx.size(), 0));
}

MatrixGolden golden_of(const MatrixKernel& kernel, const std::vector<std::uint32_t>& out) {
  MatrixGolden golden{signature_of(kernel), XXH64(out.data(), out.size() * 4, 0), 0};
  const auto size = static_cast<std::size_t>(bytes_of(kernel.result));
  for (std::size_t i = 0; i < kernel.expected.size(); ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, reinterpret_cast<const char*>(out.data()) + i * size, size);
    const double error = std::abs(decode(kernel.result, bits) - kernel.expected[i]);
    // A NaN is as wrong as can be.
    golden.error = std::isnan(error) ? INFINITY : std::max(golden.error, error);
  }
  return golden;
}

std::string golden_line(const MatrixKernel& kernel, const MatrixGolden& golden) {
  return fmt::format("{:016x} {:016x} {:.3e} {}\n", golden.signature, golden.hash, golden.error, kernel.name);
}

std::map<std::string, MatrixGolden> read_matrix_golden(const std::string& path) {
  std::map<std::string, MatrixGolden> all;
  std::ifstream file(path);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    std::istringstream words(line);
    MatrixGolden golden;
    std::string error, name;
    words >> std::hex >> golden.signature >> golden.hash >> error >> std::ws;
    std::getline(words, name);
    if (!words || name.empty())
      throw UserError("reading results of a GPU", fmt::format("{}:{}", path, number), line,
                      "signature, hash, error, name");
    golden.error = std::strtod(error.c_str(), nullptr);
    all[name] = golden;
  }
  return all;
}

std::string difference(const MatrixKernel& kernel, const MatrixGolden& gpu, const MatrixGolden& simulated) {
  if (gpu.signature != simulated.signature) return kernel.name + ": the kernel is not the recorded one";
  if (kernel.tolerance == 0)
    return gpu.hash == simulated.hash
               ? ""
               : fmt::format("{}: other bits than the GPU's, which is off by {}", kernel.name, gpu.error);
  if (gpu.error + simulated.error <= kernel.tolerance) return "";
  return fmt::format("{}: the GPU is off by {}, the simulator by {}; together at most {}", kernel.name,
                     gpu.error, simulated.error, kernel.tolerance);
}

}  // namespace weft::simulator::testing
