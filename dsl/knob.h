// A number that a schedule leaves open, for the search to choose.
#pragma once

#include <weft/dsl/compiler.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/refused_call.h>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

namespace weft {

/// The name of an open number and the values that it may take.
struct KnobChoice {
  std::string name;
  std::vector<std::int64_t> values;

  bool operator==(const KnobChoice&) const = default;
};

/// `.tile(m = knob("tile_m", {32, 64}))`. Throws UserError, with the caller's line, when the name is no
/// identifier, when there is no value, when a value is below 1 or stands twice.
KnobChoice knob(std::string name, std::vector<std::int64_t> values, CallPlace place = {});
#define WEFT_KNOB_WRITTEN "knob(\"tile_m\", {32, 64}), a name and the numbers to choose from"
WEFT_CALL_REFUSED(KnobChoice, knob, WEFT_KNOB_WRITTEN)
/// Always refused: what has a name, or numbers, alone, or numbers that are not in braces.
template <class First, class... Rest>
  requires(!std::same_as<First, detail::Anything> &&
           !(std::convertible_to<const Rest&, std::vector<std::int64_t>> || ...))
KnobChoice knob(const First&, const Rest&...) {
  constexpr bool name = std::convertible_to<const First&, std::string>;
  constexpr bool alone = sizeof...(Rest) == 0;
  constexpr bool numbers = !alone && (std::is_arithmetic_v<Rest> && ...);
  static_assert(name, "weft: knob is not given what it takes; found: no name; accepted: " WEFT_KNOB_WRITTEN);
  static_assert(!name || !alone,
                "weft: knob is not given what it takes; found: no numbers; accepted: " WEFT_KNOB_WRITTEN);
  static_assert(
      !name || !numbers,
      "weft: knob is not given what it takes; found: numbers without braces; accepted: " WEFT_KNOB_WRITTEN);
  static_assert(
      !name || alone || numbers,
      "weft: knob is not given what it takes; found: the types beside Rest; accepted: " WEFT_KNOB_WRITTEN);
  return {};
}
template <class Never = void>
KnobChoice knob(std::initializer_list<std::int64_t>) {
  static_assert(detail::never<Never>,
                "weft: knob is not given what it takes; found: no name; accepted: " WEFT_KNOB_WRITTEN);
  return {};
}
#undef WEFT_KNOB_WRITTEN

}  // namespace weft
