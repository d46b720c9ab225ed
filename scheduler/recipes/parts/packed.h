// The weights of a space, packed once in each format that its points ask for.
#pragma once

#include <weft/formats/sparse_tensor.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace weft {

/// Threads may share one.
class PackedWeights {
 public:
  explicit PackedWeights(std::shared_ptr<const WeightMatrix> matrix) : matrix_(std::move(matrix)) {}

  /// Throws as pack().
  std::shared_ptr<const SparseTensor> in(const Format& format) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<const SparseTensor>& tensor = packed_[format.text()];
    if (tensor == nullptr) tensor = pack(matrix_, format);
    return tensor;
  }

 private:
  std::shared_ptr<const WeightMatrix> matrix_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const SparseTensor>> packed_;
};

}  // namespace weft
