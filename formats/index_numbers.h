// The numbers of an index array, whichever width they are stored in.
#pragma once

#include <weft/formats/array.h>

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

/// i32 arrays are looked at where they are, and must outlive it; i16 arrays are widened.
class IndexNumbers {
 public:
  IndexNumbers() = default;
  /// InternalError for other element types.
  explicit IndexNumbers(const Array& array) {
    if (array.dtype() == DType::i16) {
      const auto narrow = array.as<std::int16_t>();
      wide_.assign(narrow.begin(), narrow.end());
      return;
    }
    stored_ = array.as<std::int32_t>();
  }

  bool empty() const { return numbers().empty(); }
  std::int32_t operator[](std::size_t at) const { return numbers()[at]; }

 private:
  std::span<const std::int32_t> numbers() const { return wide_.empty() ? stored_ : std::span(wide_); }

  std::span<const std::int32_t> stored_;
  std::vector<std::int32_t> wide_;
};

}  // namespace weft
