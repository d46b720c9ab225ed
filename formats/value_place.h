// Where a value stands in the array "values".
#pragma once

#include <weft/formats/level.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft {

/// Where in memory the element stands that would be element `place` of an array without swizzle, as
/// ir::swizzled says of buffers.
std::int64_t swizzled_place(std::int64_t place, std::size_t bytes_of_element, int swizzle);

/// The swizzle of lines of that many bytes: 1, 2, 3 for 32, 64, 128; 0 for others.
int swizzle_of_line(std::int64_t bytes);

/// From the places of a walk through the levels, one number a level, to the place in "values".
class ValuePlace {
 public:
  ValuePlace(const std::vector<Level>& levels, ValueOrder order, std::size_t bytes_of_element);

  /// The level that the order names in that place.
  std::size_t level(std::size_t place) const { return static_cast<std::size_t>(order_.levels.at(place)); }

  /// `position` and `child` (the child's number among its parent's, of a dense level) by level.
  std::int64_t operator()(std::span<const std::int64_t> position, std::span<const std::int64_t> child) const;

 private:
  ValueOrder order_;
  std::vector<std::int64_t> extents_;  ///< extents of the levels that the order names
  std::size_t bytes_of_element_;
};

}  // namespace weft
