// A call of a function with what it does not take: refused with one sentence, which says how it is written,
// where the compiler would list all that it tried.
#pragma once

#include <concepts>
#include <initializer_list>

namespace weft::detail {

template <class...>
inline constexpr bool never = false;

/// What a call is given, whatever it is, braces included. Becoming one is a conversion of the user's, so that
/// every function that does take what is given comes before one that takes this.
struct Anything {
  Anything() = default;
  template <class Given>
    requires(!std::same_as<Given, Anything>)
  Anything(const Given&) {}
  Anything(std::initializer_list<Anything>) {}
};

/// What a refused call gives back, so that no second error follows from its result. Never run.
template <class Result>
Result refused_result();

}  // namespace weft::detail

/// A call of `name` that fits none of its forms. `written` is how it is called.
#define WEFT_CALL_REFUSED(result, name, written)                                                      \
  template <class Never = void>                                                                       \
  result name(::weft::detail::Anything, ::weft::detail::Anything = {}, ::weft::detail::Anything = {}, \
              ::weft::detail::Anything = {}, ::weft::detail::Anything = {}) {                         \
    static_assert(::weft::detail::never<Never>,                                                       \
                  "weft: " #name " is not given what it takes; accepted: " written);                  \
    return ::weft::detail::refused_result<result>();                                                  \
  }
