// Chance by seed: sensible choices, and those that nobody makes on purpose.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

namespace weft::test {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}

  std::uint64_t bits() { return random_(); }
  bool chance(int percent) { return between(1, 100) <= percent; }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  template <class T>
  T any_of(std::initializer_list<T> values) {
    return *(values.begin() + between(0, static_cast<std::int64_t>(values.size()) - 1));
  }
  template <class T>
  const T& any_of(const std::vector<T>& values) {
    return values[place_in(values)];
  }
  template <class T>
  std::size_t place_in(const std::vector<T>& values) {
    return static_cast<std::size_t>(random_() % values.size());
  }
  template <class T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; --i)
      std::swap(values[i - 1], values[static_cast<std::size_t>(random_() % i)]);
  }

  /// 0, -1, 2^31, 2^62, …: where arithmetic ends.
  std::int64_t wild_number();
  /// Legal, but of something else somewhere: "sum", "errno", "values".
  std::string odd_name();
  /// No identifier: "", "A.values", "a b".
  std::string wild_name();
  /// Bytes that are no number, no name, no JSON.
  std::string wild_text();
  /// Some bytes of the text changed, taken out, put in or doubled; numbers in it made wild.
  std::string damaged(std::string text);

 private:
  std::mt19937_64 random_;
};

}  // namespace weft::test
