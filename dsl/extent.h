// The size of a dimension: a number, or a name for a size that is known only at launch.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>

namespace weft {

struct Extent {
  std::int64_t value = 0;  ///< meaningful where `name` is empty
  std::string name;        ///< "N": any size of at least 1, the same wherever the name stands

  Extent() = default;
  template <std::integral Integer>
  Extent(Integer size) : value(static_cast<std::int64_t>(size)) {}
  /// A size that is given at launch: `Extent::any("N")`.
  static Extent any(std::string name) {
    Extent extent;
    extent.name = std::move(name);
    return extent;
  }
  bool is_static() const { return name.empty(); }
  std::string text() const { return is_static() ? std::to_string(value) : name; }
  bool operator==(const Extent&) const = default;
};

}  // namespace weft
