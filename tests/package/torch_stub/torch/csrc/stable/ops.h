#pragma once

#include <torch/csrc/stable/tensor.h>

#include <cstdint>
#include <vector>

namespace torch::stable {

inline Tensor clone(const Tensor& tensor) {
  return tensor;
}
inline Tensor new_empty(const Tensor& tensor, const std::vector<std::int64_t>&, headeronly::ScalarType) {
  return tensor;
}

}  // namespace torch::stable
