// What blocks of weights in the code come to. Written once, for the recipe, its space and its bound.
#pragma once

#include <weft/scheduler/recipes/parts/number.h>

#include <cmath>
#include <cstdint>

namespace weft::code {

inline constexpr double bytes_of_instruction = 16;
inline constexpr double bytes_at_hand = 24'000;  ///< bytes of code that a processor has at hand

/// Loads of B: columns of the weights with an entry in so many rows.
inline double loads(double columns, double density, std::int64_t rows) {
  return columns * (1 - std::pow(1 - density, static_cast<double>(rows)));
}

/// Bytes of the sums that groups of so many threads hand over to one another; nothing where there is one
/// group.
template <class Number>
Number bytes_handed_over(const Number& groups, const Number& rows, const Number& threads,
                         std::int64_t bytes_of_sum) {
  return shapes::minimum(groups - Number(1), Number(1)) * groups * rows * threads * Number(bytes_of_sum);
}

}  // namespace weft::code
