// Runs every scalar kernel on a GPU and writes its results as the golden file of scalar_conformance_test:
// simulator_conformance_record tests/golden/simulator/scalar_sm90.txt [sim:sm_90a]
#include <weft/backends/simulator/device.h>
#include <weft/dsl/errors.h>

#include <exception>
#include <fstream>
#include <iostream>

#include "scalar_golden.h"

namespace weft::simulator::scalar_tests {
namespace {

int record(const std::string& path, const std::string& device_name) {
  const weft::Device device =
      device_name.starts_with("sim:") ? weft::Device::simulator(device_name.substr(4)) : weft::Device::cuda();
  std::ofstream file(path, std::ios::binary);
  std::size_t count = 0;
  for (const Group& group : scalar_groups()) {
    const auto results = run(device, group);
    for (std::size_t i = 0; i < results.size(); ++i) file << golden_line(group.kernels[i], results[i]);
    count += results.size();
  }
  file.close();
  if (!file) throw weft::RuntimeError("cannot write " + path);
  std::cout << count << " kernels on " << device.description().model << '\n';
  return 0;
}

}  // namespace
}  // namespace weft::simulator::scalar_tests

int main(int count, char** words) {
  if (count < 2) {
    std::cerr << "usage: simulator_conformance_record FILE [sim:sm_90a]\n";
    return 2;
  }
  try {
    return weft::simulator::scalar_tests::record(words[1], count > 2 ? words[2] : "cuda");
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
