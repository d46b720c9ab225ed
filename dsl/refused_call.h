// A call of a function with what it does not take: refused with one sentence, which says how it is written,
// where the compiler would list all that it tried.
#pragma once

/// A name that another language or library has: used, it is refused with the sentence, at the user's line.
/// Compilers that cannot say it do not have the name.
#if defined(__has_attribute)
#if __has_attribute(unavailable)
#define WEFT_NO_NAME(sentence) __attribute__((unavailable("weft: " sentence)))
#endif
#endif

#include <concepts>
#include <initializer_list>
#include <type_traits>

namespace weft {

/// Found by the types of weft, and of what is made of them, alone.
template <class Given>
void is_of_weft(const Given&);

}  // namespace weft

namespace weft_types {

template <class Given>
concept OfWeft = requires(const Given& given) { is_of_weft(given); };

}  // namespace weft_types

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
/// The same where whatever is asked for may be given back.
struct AnyResult {
  template <class Result>
    requires(!std::same_as<Result, AnyResult>)
  operator Result() const {
    return refused_result<Result>();
  }
};

}  // namespace weft::detail

/// An object made of what it is not made of, in the class `name`. `written` is how one is had.
#define WEFT_NOT_MADE_OF(name, written)                                                           \
  template <class First, class... Rest>                                                           \
    requires(!std::same_as<std::remove_cvref_t<First>, name> && sizeof...(Rest) < 3)              \
  explicit name(const First&, const Rest&...) {                                                   \
    static_assert(::weft::detail::never<First, Rest...>,                                          \
                  "weft: a " #name                                                                \
                  " is not made so; found: the types beside First and Rest; accepted: " written); \
  }

/// A member that another language or library has and the class has not, with braces among what it is given or
/// without. `written` is what is called here.
#define WEFT_NO_MEMBER(result, name, written)                                                          \
  template <class... Given>                                                                            \
  result name(const Given&...) const {                                                                 \
    static_assert(::weft::detail::never<Given...>, "weft: there is no " #name "; accepted: " written); \
    return ::weft::detail::refused_result<result>();                                                   \
  }                                                                                                    \
  template <class Never = void>                                                                        \
  result name(::weft::detail::Anything, ::weft::detail::Anything = {}, ::weft::detail::Anything = {})  \
      const {                                                                                          \
    static_assert(::weft::detail::never<Never>, "weft: there is no " #name "; accepted: " written);    \
    return ::weft::detail::refused_result<result>();                                                   \
  }

/// A static function likewise.
#define WEFT_NO_FUNCTION(result, name, written)                                                     \
  template <class Never = void>                                                                     \
  static result name(::weft::detail::Anything = {}, ::weft::detail::Anything = {},                  \
                     ::weft::detail::Anything = {}) {                                               \
    static_assert(::weft::detail::never<Never>, "weft: there is no " #name "; accepted: " written); \
    return ::weft::detail::refused_result<result>();                                                \
  }

/// A call of `name`, of the parameters behind `written`, with options that it has not. `names` has the names
/// that may be tried.
#define WEFT_OPTION_REFUSED(result, name, names, written, ...)                                              \
  template <class Never = void>                                                                             \
  result name(__VA_ARGS__, const names&) {                                                                  \
    static_assert(::weft::detail::never<Never>,                                                             \
                  "weft: " #name                                                                            \
                  " is not given options that it has; found: one of another name, without its name, or of " \
                  "another type; accepted: " written);                                                      \
    return ::weft::detail::refused_result<result>();                                                        \
  }

/// A call of `name`, without braces, that fits none of its forms, which stand above, and is given something
/// of weft: the types of what it is given are told. `written` is how it is called.
#define WEFT_TYPES_REFUSED(result, name, written)                                                    \
  template <class... Given>                                                                          \
  inline constexpr bool takes_##name =                                                               \
      requires(Given&... given) { ::weft::name(given...); } || requires(const Given&... given) {     \
        ::weft::name(given...);                                                                      \
      } || requires(Given&&... given) { ::weft::name(static_cast<Given&&>(given)...); };             \
  template <class... Given>                                                                          \
    requires((::weft_types::OfWeft<Given> || ...) && !takes_##name<Given...>)                        \
  result name(const Given&...) {                                                                     \
    static_assert(::weft::detail::never<Given...>,                                                   \
                  "weft: " #name                                                                     \
                  " is not given what it takes; found: the types beside Given; accepted: " written); \
    return ::weft::detail::refused_result<result>();                                                 \
  }

/// The same, and what has braces, nothing of weft, or nothing at all. What is found there has no types that
/// could be told: a template for them would come before a function of the user's own of that name.
#define WEFT_CALL_REFUSED(result, name, written)                                                           \
  WEFT_TYPES_REFUSED(result, name, written)                                                                \
  template <class Never = void>                                                                            \
  result name(::weft::detail::Anything = {}, ::weft::detail::Anything = {}, ::weft::detail::Anything = {}, \
              ::weft::detail::Anything = {}, ::weft::detail::Anything = {}) {                              \
    static_assert(::weft::detail::never<Never>,                                                            \
                  "weft: " #name                                                                           \
                  " is not given what it takes; found: numbers or texts without names, braces, or "        \
                  "nothing, where something else belongs; accepted: " written);                            \
    return ::weft::detail::refused_result<result>();                                                       \
  }
