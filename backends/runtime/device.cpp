#include <weft/backends/runtime/cuda_device.h>
#include <weft/backends/runtime/device.h>
#include <weft/dsl/errors.h>

#include <charconv>
#include <utility>

namespace weft {

// In cpu_device.cpp.
std::shared_ptr<DeviceInterface> open_cpu_device();

namespace {

[[noreturn]] void refuse_name(std::string_view text) {
  throw UserError({"reading the name of a device",
                   {},
                   "'" + std::string(text) + "'",
                   "cpu, cuda, or cuda:<number> such as cuda:1"});
}

}  // namespace

Device::Device(std::shared_ptr<DeviceInterface> implementation) : implementation_(std::move(implementation)) {
  internal_check(implementation_ != nullptr, "a Device without an implementation");
}

Device Device::cpu() {
  return Device(open_cpu_device());
}

Device Device::cuda(int ordinal) {
  const driver::Status& status = driver::status();
  if (!status.ready()) throw RuntimeError(status.sentence);
  if (ordinal < 0 || ordinal >= status.device_count) {
    throw UserError({"choosing a CUDA device",
                     {},
                     "cuda:" + std::to_string(ordinal),
                     status.device_count == 1 ? "cuda:0, the only one here"
                                              : "cuda:0 to cuda:" + std::to_string(status.device_count - 1)});
  }
  return Device(CudaDevice::open(ordinal));
}

std::vector<DeviceDescription> Device::devices() {
  std::vector<DeviceDescription> all{cpu().description()};
  for (int ordinal = 0; ordinal < driver::status().device_count; ++ordinal) {
    all.push_back(CudaDevice::describe(ordinal));
  }
  return all;
}

Device parse_device(std::string_view text) {
  if (text == "cpu") return Device::cpu();
  if (text == "cuda") return Device::cuda();
  if (text.starts_with("cuda:")) {
    const std::string_view digits = text.substr(5);
    int ordinal = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
    const bool is_number = error == std::errc() && end == digits.data() + digits.size() && ordinal >= 0;
    if (!is_number) refuse_name(text);
    return Device::cuda(ordinal);
  }
  if (text == "sim" || text.starts_with("sim:")) {
    throw UserError({"choosing a device",
                     {},
                     "'" + std::string(text) + "', but the simulator is not part of this build",
                     "cpu, cuda, or cuda:<number>"});
  }
  refuse_name(text);
}

}  // namespace weft
