#include "run_on_simulator.h"

#include <fmt/format.h>
#include <weft/backends/runtime/memory.h>
#include <weft/backends/simulator/device.h>
#include <weft/backends/simulator/execute/tensor_map.h>

#include <algorithm>
#include <deque>

namespace weft::mutants {
namespace {

simulator::TensorMapBytes encode(const MapOfMatrix& map, std::uint64_t address) {
  const std::array<std::uint64_t, 2> dimensions{map.columns, map.rows};
  const std::array<std::uint64_t, 1> strides{map.columns * 2};
  const std::array<std::uint32_t, 2> box{64, 64}, element_strides{1, 1};
  using Map = simulator::TensorMap;
  return simulator::encode_tensor_map(Map::Type::f16, 2, address, dimensions.data(), strides.data(),
                                      box.data(), element_strides.data(), 0, Map::Swizzle::bytes_128,
                                      Map::Fill::zeros);
}

simulator::DeviceOptions options(const Order& order) {
  simulator::DeviceOptions options;
  options.launch.seed = order.seed;
  options.launch.late = order.late;
  // Far more than any of the kernels runs: a mutant that never ends is stopped soon.
  options.launch.step_limit = 1'000'000;
  options.tolerates_findings = true;
  options.timed = false;
  return options;
}

}  // namespace

Outcome run_on_simulator(const Kernel& kernel, const std::string& ptx, const Order& order) {
  const Device device = simulator::make_device("sm_90a", options(order));
  const Problem problem = kernel.make(order.seed);
  std::vector<DeviceMemory> buffers;
  for (const Words& input : problem.inputs) buffers.emplace_back(device, input);
  DeviceMemory& output = buffers.emplace_back(device, problem.expected.size() * sizeof(std::uint32_t));
  output.poison();
  const std::size_t index_of_output = problem.inputs.size();
  for (const std::size_t words : problem.scratch)
    buffers.emplace_back(device, words * sizeof(std::uint32_t)).poison();

  std::vector<std::uint64_t> addresses;
  for (const DeviceMemory& buffer : buffers) addresses.push_back(buffer.address());
  std::deque<simulator::TensorMapBytes> maps;
  for (const MapOfMatrix& map : problem.maps) maps.push_back(encode(map, addresses[map.input]));
  std::vector<void*> arguments;
  for (std::uint64_t& address : addresses) arguments.push_back(&address);
  for (simulator::TensorMapBytes& map : maps) arguments.push_back(map.data());

  const Module module = Module::load(device, ptx);
  module.function("kernel").launch(kernel.shape, arguments, nullptr);

  Outcome outcome;
  const simulator::LaunchReport& report = simulator::last_report(device);
  for (const simulator::Finding& finding : report.findings) outcome.kinds.insert(finding.kind);
  outcome.stopped = outcome.kinds.contains("deadlock") || outcome.kinds.contains("endless");
  const Words result = buffers[index_of_output].to_vector<std::uint32_t>();
  const auto differs = std::ranges::mismatch(result, problem.expected);
  outcome.is_right = differs.in1 == result.end();
  if (!report.clean()) outcome.text = report.text();
  if (!outcome.is_right)
    outcome.text += fmt::format("wrong first at word {}\n", differs.in1 - result.begin());
  return outcome;
}

}  // namespace weft::mutants
