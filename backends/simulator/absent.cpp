// What stands in the simulator's place where a build leaves it out (WEFT_SIMULATOR): all that others ask of
// it. Nobody gets a simulated device, so nothing else is ever called.
#include <weft/backends/simulator/device.h>
#include <weft/dsl/errors.h>

#include <string>

namespace weft {
namespace {

[[noreturn]] void refuse() {
  throw InternalError("a simulated device in a build without the simulator");
}

}  // namespace

Device Device::simulator(std::string_view architecture, CallPlace place) {
  return user_call(place, [&]() -> Device {
    throw UserError("this build has no simulator", "sim:" + std::string(architecture),
                    "cpu, a CUDA device, or weft configured with -DWEFT_SIMULATOR=ON");
  });
}

namespace simulator {

bool is_built() {
  return false;
}
DeviceOptions& options(const Device&, CallPlace) {
  refuse();
}
const TimeEstimate& last_estimate(const Device&, CallPlace) {
  refuse();
}
const TimeParameters& time_parameters_of(int) {
  refuse();
}
void name_buffer(const Device&, std::uint64_t, const std::string&) {
  refuse();
}
void set_origins(const Device&, const std::string&, std::map<std::string, std::string>) {
  refuse();
}

}  // namespace simulator
}  // namespace weft
