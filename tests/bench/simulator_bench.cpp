// Thread-instructions that the simulator runs in a second on one core: with all checks and the time model,
// and with one or both of them left out.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <weft/backends/runtime/memory.h>
#include <weft/backends/simulator/device.h>

#include "simulator_kernels.h"

namespace weft::bench {
namespace {

void simulate(benchmark::State& state, SimulatedKernel (*make)(), bool check, bool timed) {
  const SimulatedKernel kernel = make();
  simulator::DeviceOptions options;
  options.launch.check = check;
  options.timed = timed;
  const Device device = simulator::make_device("sm_90a", options);
  std::vector<DeviceMemory> buffers;
  for (const auto& input : kernel.inputs) buffers.emplace_back(device, input);
  buffers.emplace_back(device, kernel.output_words * sizeof(std::uint32_t));
  std::vector<std::uint64_t> addresses;
  for (const DeviceMemory& buffer : buffers) addresses.push_back(buffer.address());
  std::vector<void*> arguments;
  for (std::uint64_t& address : addresses) arguments.push_back(&address);
  const Module module = Module::load(device, kernel.ptx);
  const Function function = module.function("kernel");
  std::uint64_t instructions = 0;
  for (auto _ : state) {
    function.launch(kernel.shape, arguments, nullptr);
    instructions += simulator::last_report(device).thread_instructions;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(instructions));
}

void add(const char* name, SimulatedKernel (*make)()) {
  for (const bool check : {true, false}) {
    for (const bool timed : {true, false}) {
      benchmark::RegisterBenchmark(
          fmt::format("{}/{}/{}", name, check ? "checked" : "unchecked", timed ? "timed" : "untimed").c_str(),
          [=](benchmark::State& state) { simulate(state, make, check, timed); })
          ->Unit(benchmark::kMillisecond);
    }
  }
}

void add_kernels() {
  add("tiled_product", tiled_product);
  add("sparse_gather", sparse_gather);
  add("copy", copy);
  add("matrix_loop", matrix_loop);
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  weft::bench::add_kernels();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
