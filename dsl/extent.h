// The size of a dimension: a number, or a name for a size that is known only at launch.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>

namespace weft {

struct Extent {
  std::int64_t value = 0;     ///< meaningful where `name` is empty
  std::string name;           ///< "N": any size of at least 1, the same wherever the name stands
  std::int64_t multiple = 1;  ///< of a named size: it is a multiple of this, at least 1

  Extent() = default;
  template <std::integral Integer>
  Extent(Integer size) : value(static_cast<std::int64_t>(size)) {}
  /// A size that is given at launch: `Extent::any("N")`. `Extent::any("N", 8)`: one of 8, 16, 24, …, so that
  /// rows of it begin aligned.
  static Extent any(std::string name, std::int64_t multiple = 1) {
    Extent extent;
    extent.name = std::move(name);
    extent.multiple = multiple;
    return extent;
  }
  bool is_static() const { return name.empty(); }
  bool is_multiple_of(std::int64_t number) const { return (is_static() ? value : multiple) % number == 0; }
  std::string text() const { return is_static() ? std::to_string(value) : name; }
  bool operator==(const Extent&) const = default;
};

}  // namespace weft
