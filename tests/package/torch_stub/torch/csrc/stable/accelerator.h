#pragma once

#include <cstdint>

namespace torch::stable::accelerator {

class DeviceGuard {
 public:
  explicit DeviceGuard(std::int32_t) {}
  ~DeviceGuard() {}
};

}  // namespace torch::stable::accelerator
