#include <weft/backends/runtime/cuda_device.h>
#include <weft/backends/runtime/stream.h>

#include <cstdio>

namespace weft {

Stream::Stream(const Device& device, CallPlace place) {
  if (!device.is_cuda(place)) return;
  device_ = cuda_device_of(device, "making a stream");
  const ContextScope scope(*device_);
  constexpr unsigned non_blocking = 1;
  driver::check(driver::entry_points().cuStreamCreate(&handle_, non_blocking),
                "making a stream on " + device.name());
}

Stream::~Stream() {
  if (handle_ != nullptr && !device_->has_stuck_kernel()) driver::entry_points().cuStreamDestroy_v2(handle_);
}

void Stream::wait(double limit_seconds) {
  if (device_ != nullptr) device_->wait(handle_, limit_seconds, "waiting for a stream");
}

void wait_for(const Device& device, StreamHandle stream, double limit_seconds, CallPlace place) {
  if (device.is_cuda(place))
    cuda_device_of(device, "waiting for a stream")->wait(stream, limit_seconds, "waiting for a stream");
}

std::string text_of_seconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%g s", seconds);
  return text;
}

}  // namespace weft
