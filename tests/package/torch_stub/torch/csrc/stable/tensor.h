#pragma once

#include <torch/headeronly/core/ScalarType.h>

#include <cstdint>

using AOTITorchError = std::int32_t;

namespace torch::stable {

class Tensor {
 public:
  headeronly::ScalarType scalar_type() const { return headeronly::ScalarType::Byte; }
  std::int64_t dim() const { return 0; }
  std::int64_t size(std::int64_t) const { return 0; }
  std::int64_t numel() const { return 0; }
  bool is_contiguous() const { return true; }
  std::int32_t get_device_index() const { return 0; }
  const void* const_data_ptr() const { return nullptr; }
  void* mutable_data_ptr() const { return nullptr; }
};

}  // namespace torch::stable
