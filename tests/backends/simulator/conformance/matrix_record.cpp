// Runs every matrix kernel on a GPU and writes what came out as the golden file of simulator_matrix_test:
// simulator_matrix_record tests/golden/simulator/matrix_sm90.txt [sim:sm_90a]
#include <weft/backends/simulator/device.h>
#include <weft/dsl/errors.h>

#include <exception>
#include <fstream>
#include <iostream>

#include "matrix_golden.h"

namespace weft::simulator::testing {
namespace {

int record(const std::string& path, const std::string& device_name) {
  const weft::Device device =
      device_name.starts_with("sim:") ? weft::Device::simulator(device_name.substr(4)) : weft::Device::cuda();
  std::ofstream file(path, std::ios::binary);
  std::size_t count = 0, beyond = 0;
  for (const MatrixKernel& kernel : matrix_kernels()) {
    const MatrixGolden golden = golden_of(kernel, run(device, kernel));
    file << golden_line(kernel, golden);
    ++count;
    if (golden.error <= kernel.tolerance) continue;
    ++beyond;
    std::cout << kernel.name << ": off by " << golden.error << ", expected at most " << kernel.tolerance
              << '\n';
  }
  file.close();
  if (!file) throw weft::RuntimeError("cannot write " + path);
  std::cout << count << " kernels on " << device.description().model << ", " << beyond
            << " not as a plain product\n";
  return 0;
}

}  // namespace
}  // namespace weft::simulator::testing

int main(int count, char** words) {
  if (count < 2) {
    std::cerr << "usage: simulator_matrix_record FILE [sim:sm_90a]\n";
    return 2;
  }
  try {
    return weft::simulator::testing::record(words[1], count > 2 ? words[2] : "cuda");
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
