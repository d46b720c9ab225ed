// The simulator as a device, and what it has to say beyond a device's answers.
#pragma once

#include <weft/backends/runtime/device.h>
#include <weft/backends/simulator/machine/machine.h>
#include <weft/backends/simulator/machine/report.h>
#include <weft/backends/simulator/timing/model.h>
#include <weft/dsl/errors.h>

#include <string_view>

namespace weft::simulator {

/// Whether this build has the simulator (WEFT_SIMULATOR); without it, no device is simulated.
bool is_built();

/// Launches run at once, in the calling thread. A launch with findings ends in RuntimeError with the report's
/// text, unless `tolerates_findings`; the report of the last launch can be read in both cases.
struct DeviceOptions {
  LaunchOptions launch;
  bool tolerates_findings = false;
  bool timed = true;  ///< follow the time model too; it is what the device's clock shows
  int registers = 0;  ///< a thread, as an assembler counted them, for the model; 0 estimates them
};

/// Options of a simulated device, to be changed between launches. UserError for another kind of device.
DeviceOptions& options(const Device& device, CallPlace place = {});
const LaunchReport& last_report(const Device& device, CallPlace place = {});
/// How long the last launch would take; all zero where it was not timed.
const TimeEstimate& last_estimate(const Device& device, CallPlace place = {});

/// What reports call a buffer of global memory, and where a kernel's buffers come from: by the buffer's name
/// in the PTX or here, the text of the step that made it.
void name_buffer(const Device& device, std::uint64_t address, const std::string& name);
void set_origins(const Device& device, const std::string& kernel, std::map<std::string, std::string> origins);

/// A simulated device of its own, with its own memory. `architecture` as Device::simulator.
Device make_device(std::string_view architecture, const DeviceOptions& options = {}, CallPlace place = {});

}  // namespace weft::simulator
