#include <weft/backends/runtime/module.h>

namespace weft {

std::shared_ptr<ModuleInterface> DeviceInterface::load(std::string_view) {
  throw UserError("loading a module", "the device " + description().name, "a device that runs GPU code");
}

Module Module::load(const Device& device, std::string_view image, CallPlace place) {
  return user_call(place, [&] { return Module(device.implementation(place).load(image)); });
}

}  // namespace weft
