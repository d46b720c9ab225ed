#include <weft/backends/runtime/cuda_device.h>
#include <weft/backends/runtime/device.h>

#include <utility>

namespace weft {

// In cpu_device.cpp.
std::shared_ptr<DeviceInterface> open_cpu_device();

Device::Device(std::shared_ptr<DeviceInterface> implementation, CallPlace place)
    : implementation_(std::move(implementation)) {
  held(implementation_, "Device", "Device::cpu(), cuda() or simulator()", place);
}

Device Device::cpu() {
  return Device(open_cpu_device());
}

namespace {

std::shared_ptr<DeviceInterface> open_cuda_device(int ordinal) {
  const driver::Status& status = driver::status();
  const std::string name = "cuda:" + std::to_string(ordinal);
  if (!status.ready()) {
    const auto colon = status.sentence.find(": ");
    const std::string place = detail::UserCall::outermost()->text();
    // It is the machine that lacks something, but who asked goes on elsewhere.
    const UserError told(
        status.sentence.substr(0, colon), place.empty() ? name : place, status.sentence.substr(colon + 2),
        std::string("a machine with a GPU of NVIDIA and its driver") +
            (place.empty() ? ""
                           : "; here Device::cpu(), or Device::simulator(\"sm_90a\") for kernels of GPUs"));
    throw RuntimeError(told.what());
  }
  if (ordinal < 0 || ordinal >= status.device_count)
    throw UserError("choosing a CUDA device", name,
                    status.device_count == 1 ? "cuda:0, the only one here"
                                             : "cuda:0 to cuda:" + std::to_string(status.device_count - 1));
  return CudaDevice::open(ordinal);
}

}  // namespace

Device Device::cuda(int ordinal, CallPlace place) {
  return user_call(place, [&] { return Device(open_cuda_device(ordinal)); });
}

std::vector<DeviceDescription> Device::devices() {
  std::vector<DeviceDescription> all{cpu().description()};
  for (int ordinal = 0; ordinal < driver::status().device_count; ++ordinal)
    all.push_back(CudaDevice::describe(ordinal));
  return all;
}

}  // namespace weft
