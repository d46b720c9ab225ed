// The size of a dimension: a number, or a name for a size that is known only at launch.
#pragma once

#include <weft/dsl/compiler.h>
#include <weft/dsl/errors.h>

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

struct Extent {
  std::int64_t value = 0;     ///< meaningful where `name` is empty
  std::string name;           ///< "N": any size of at least 1, the same wherever the name stands
  std::int64_t multiple = 1;  ///< a named size is a multiple of this, at least 1

  Extent() = default;
  template <std::integral Integer>
  Extent(Integer size) : value(static_cast<std::int64_t>(size)) {}
  template <class Other>
    requires(std::floating_point<Other> || std::convertible_to<const Other&, std::string_view> ||
             requires(const Other& index) { index.affine(); })
  Extent(const Other&) {
    constexpr bool text = std::convertible_to<const Other&, std::string_view>;
    static_assert(!std::floating_point<Other>,
                  "weft: a size is not an integer; accepted: an integer such as 64");
    static_assert(
        std::floating_point<Other> || text,
        "weft: a size is an index; accepted: an integer such as 64, or Extent::any(\"N\") for a size "
        "that is given at launch");
    static_assert(!text,
                  "weft: a size is a text; accepted: an integer such as 64, or Extent::any(\"N\") for a size "
                  "that is given at launch");
  }
  /// A size that is given at launch: `Extent::any("N")`. `Extent::any("N", 8)`: one of 8, 16, 24, …, so that
  /// rows of it begin aligned.
  /// UserError, with the caller's line, when the name is empty.
  static Extent any(std::string name, std::int64_t multiple = 1, CallPlace place = {});
  bool is_static() const { return name.empty(); }
  bool is_multiple_of(std::int64_t number) const { return (is_static() ? value : multiple) % number == 0; }
  std::string text() const { return is_static() ? std::to_string(value) : name; }
  bool operator==(const Extent&) const = default;
};

}  // namespace weft
