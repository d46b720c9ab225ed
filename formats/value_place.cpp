#include <weft/formats/value_place.h>

#include <bit>
#include <utility>

namespace weft {

std::int64_t swizzled_place(std::int64_t place, std::size_t bytes_of_element, int swizzle) {
  constexpr int bits_of_line = 7;  // 128 bytes
  constexpr int bits_of_chunk = 4;
  const int bits_of_element = std::countr_zero(bytes_of_element);
  const std::int64_t line = (place >> (bits_of_line - bits_of_element)) & ((std::int64_t{1} << swizzle) - 1);
  return place ^ (line << (bits_of_chunk - bits_of_element));
}

int swizzle_of_line(std::int64_t bytes) {
  for (int swizzle = 1; swizzle <= 3; ++swizzle) {
    if (bytes == std::int64_t{16} << swizzle) return swizzle;
  }
  return 0;
}

ValuePlace::ValuePlace(const std::vector<Level>& levels, ValueOrder order, std::size_t bytes_of_element)
    : order_(std::move(order)), bytes_of_element_(bytes_of_element) {
  for (const int level : order_.levels) extents_.push_back(levels.at(static_cast<std::size_t>(level)).extent);
}

std::int64_t ValuePlace::operator()(std::span<const std::int64_t> position,
                                    std::span<const std::int64_t> child) const {
  if (order_.levels.empty()) return position.back();
  std::int64_t place = position[order_.levels.front()];
  for (std::size_t i = 1; i < order_.levels.size(); ++i)
    place = place * extents_[i] + child[order_.levels[i]];
  return swizzled_place(place, bytes_of_element_, order_.swizzle);
}

}  // namespace weft
