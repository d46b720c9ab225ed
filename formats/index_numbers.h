// The numbers of an index array, whichever width they are stored in.
#pragma once

#include <weft/formats/array.h>

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

/// i32 arrays are looked at where they are, and must outlive it; narrower ones are widened.
class IndexNumbers {
 public:
  IndexNumbers() = default;
  /// `bits`: 4 where each byte of a u8 array holds two numbers, the first in its low half. InternalError for
  /// element types other than i32, i16 and u8.
  explicit IndexNumbers(const Array& array, int bits = 8) {
    if (array.dtype() == DType::u8) {
      for (const std::uint8_t byte : array.as<std::uint8_t>()) {
        if (bits == 8)
          wide_.push_back(byte);
        else
          wide_.insert(wide_.end(), {byte % 16, byte / 16});
      }
      return;
    }
    if (array.dtype() == DType::i16) {
      const auto narrow = array.as<std::int16_t>();
      wide_.assign(narrow.begin(), narrow.end());
      return;
    }
    stored_ = array.as<std::int32_t>();
  }

  bool empty() const { return numbers().empty(); }
  std::int32_t operator[](std::size_t number) const { return numbers()[number]; }
  std::span<const std::int32_t> numbers() const { return wide_.empty() ? stored_ : std::span(wide_); }

 private:
  std::span<const std::int32_t> stored_;
  std::vector<std::int32_t> wide_;
};

}  // namespace weft
