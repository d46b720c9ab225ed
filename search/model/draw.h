// Choices by chance that are the same on every machine.
#pragma once

#include <weft/formats/random.h>

#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace weft {

/// 0, 1, … count - 1
inline std::vector<std::size_t> numbers_below(std::size_t count) {
  std::vector<std::size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return numbers;
}

/// 0 … count - 1
inline std::size_t draw_below(Random& random, std::size_t count) {
  return static_cast<std::size_t>(random.below(static_cast<std::int64_t>(count)));
}

/// Any order, each as likely as any other.
template <class T>
void shuffle(std::vector<T>& items, Random& random) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[draw_below(random, i)]);
}

}  // namespace weft
