// Arithmetic of sizes.
#pragma once

#include <concepts>
#include <type_traits>

namespace weft {

/// How many parts of that size hold the whole; the last may be smaller. No number is negative, and the part
/// is not 0.
template <std::integral Whole, std::integral Part>
constexpr std::common_type_t<Whole, Part> ceil_divide(Whole whole, Part part) {
  return (whole + part - 1) / part;
}

}  // namespace weft
