// weft devices: what kernels can run on here, and what they can be compiled for.
#include <fmt/format.h>
#include <weft/backends/cuda/toolkit.h>
#include <weft/backends/runtime/device.h>
#include <weft/backends/runtime/driver.h>
#include <weft/backends/simulator/device.h>
#include <weft/search/tool/flags.h>
#include <weft/search/tool/table.h>

#include <nlohmann/json.hpp>

namespace weft::tool {
namespace {

std::string json_of_devices() {
  nlohmann::ordered_json document;
  document["driver"] = driver::status().sentence;
  for (const DeviceDescription& device : Device::devices()) {
    nlohmann::ordered_json entry{
        {"name", device.name}, {"model", device.model}, {"memory_bytes", device.memory_bytes}};
    if (device.kind == DeviceKind::cuda) {
      entry["sm"] = device.sm;
      entry["multiprocessors"] = device.multiprocessors;
      entry["shared_bytes_opt_in"] = device.shared_bytes_opt_in;
      entry["l2_bytes"] = device.l2_bytes;
    } else {
      entry["logical_cores"] = device.logical_cores;
      entry["instruction_sets"] = device.instruction_sets;
    }
    document["devices"].push_back(entry);
  }
  return document.dump(2);
}

void print_devices() {
  Table table({"device", "model", "memory", "details"});
  for (const DeviceDescription& d : Device::devices()) {
    const std::string details =
        d.kind == DeviceKind::cuda
            ? fmt::format("sm_{}, {} multiprocessors, {} KB shared memory a block, {} MB L2", d.sm,
                          d.multiprocessors, d.shared_bytes_opt_in >> 10, d.l2_bytes >> 20)
            : fmt::format("{} cores, {}", d.logical_cores, fmt::join(d.instruction_sets, " "));
    table.row({d.name, d.model, fmt::format("{} MiB", d.memory_bytes >> 20), details});
  }
  const char* simulated =
      simulator::is_built()
          ? "sim:sm_75 … sm_90a, sim:sm_70_swmma: GPU kernels in the simulator (docs/simulator.md)"
          : "no simulator in this build (WEFT_SIMULATOR=OFF)";
  fmt::print("{}\n{}\nCUDA: {}\n{}\nweft targets: what kernels can be made for\n", table.text(), simulated,
             driver::status().sentence, cuda::text_of(cuda::toolkit()));
}

}  // namespace

void add_devices(CLI::App& app, Action& action) {
  struct DevicesVerb {
    bool json = false;
  };
  const auto run = [](const DevicesVerb& options) -> int {
    if (options.json)
      fmt::print("{}\n", json_of_devices());
    else
      print_devices();
    return exit_ok;
  };
  const auto [verb, options] = new_verb<DevicesVerb>(app, action, "devices", "list devices and tools",
                                                     "Example: weft devices --json", run);
  begin_group(verb, "Output");
  add_json_flag(verb, options.json);
}

}  // namespace weft::tool
