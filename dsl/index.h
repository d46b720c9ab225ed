// Indices: one type a name, so that the compiler sees which index stands where; and their sums, 2 * p + r
// - 1.
#pragma once

#include <weft/dsl/algorithm.h>
#include <weft/dsl/loop.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft {

/// The text of an index's name as part of its type.
template <std::size_t size>
struct IndexName {
  char text[size];

  consteval IndexName(const char (&name)[size]) {
    for (std::size_t i = 0; i < size; ++i) text[i] = name[i];
  }
};

template <IndexName name>
struct Index;

namespace detail {

/// An index without a name; its message has been given.
using NamelessIndex = Index<"no name">;

}  // namespace detail

/// A loop variable of the algorithm. In a schedule it names the loop: `m`, `m.outer`, `m.inner.outer`, and a
/// loop with a factor: `m = 64`, `m = knob("tile_m", {32, 64})`.
template <IndexName name>
struct Index : TakesFactor<Index<name>> {
  static constexpr LoopPart<2> outer{name.text, 2};
  static constexpr LoopPart<2> inner{name.text, 3};

  Index()
    requires(!std::same_as<Index, detail::NamelessIndex>)
  = default;
  template <class Never = void>
  Index() {
    static_assert(
        detail::never<Never>,
        "weft: an index has no name; accepted: WEFT_INDEX(i); or Index<\"i\"> i;, its name in its type");
  }
  /// Always refused: the compiler has to know the name.
  template <std::convertible_to<std::string_view> Text>
  explicit Index(const Text&) {
    static_assert(
        detail::never<Text>,
        "weft: an index is made of a text; accepted: WEFT_INDEX(i); or Index<\"i\"> i;, its name in "
        "its type");
  }

  operator LoopName() const { return name.text; }
  using TakesFactor<Index>::operator=;

  static const char* text() { return name.text; }
  static AffineIndex affine() { return {{{name.text, 1}}, 0}; }
};

template <std::convertible_to<std::string_view> Text>
Index(const Text&) -> Index<"no name">;
Index() -> Index<"no name">;

/// Declares an index of that name, inside or outside of functions: `WEFT_INDEX(m);` Several names are as many
/// indices, at most eight: `WEFT_INDEX(m, n, k);`
#define WEFT_INDEX(name, ...) WEFT_ONE_INDEX(name) __VA_OPT__(; WEFT_INDEX_2(__VA_ARGS__))
#define WEFT_ONE_INDEX(name) \
  [[maybe_unused]] constexpr ::weft::Index<#name> name {}
#define WEFT_INDEX_2(name, ...) WEFT_ONE_INDEX(name) __VA_OPT__(; WEFT_INDEX_3(__VA_ARGS__))
#define WEFT_INDEX_3(name, ...) WEFT_ONE_INDEX(name) __VA_OPT__(; WEFT_INDEX_4(__VA_ARGS__))
#define WEFT_INDEX_4(name, ...) WEFT_ONE_INDEX(name) __VA_OPT__(; WEFT_INDEX_5(__VA_ARGS__))
#define WEFT_INDEX_5(name, ...) WEFT_ONE_INDEX(name) __VA_OPT__(; WEFT_INDEX_6(__VA_ARGS__))
#define WEFT_INDEX_6(name, ...) WEFT_ONE_INDEX(name) __VA_OPT__(; WEFT_INDEX_7(__VA_ARGS__))
#define WEFT_INDEX_7(name, ...) WEFT_ONE_INDEX(name) __VA_OPT__(; WEFT_INDEX_8(__VA_ARGS__))
#define WEFT_INDEX_8(name, ...)                                                                     \
  WEFT_ONE_INDEX(name)                                                                              \
  __VA_OPT__(; static_assert(::weft::detail::never<::weft::Index<#__VA_ARGS__>>,                    \
                             "weft: WEFT_INDEX is given more than eight names; accepted: a second " \
                             "WEFT_INDEX for those that follow"))

/// A sum of indices; the types are those of the indices in it.
template <class... Indices>
struct IndexSum {
  AffineIndex value;

  const AffineIndex& affine() const { return value; }
};

namespace detail {

/// Far below the range of 64 bits, so that index arithmetic with such numbers cannot leave it.
inline constexpr std::int64_t largest_index_number = std::int64_t{1} << 48;

/// An index that is none; its message has been given.
struct BrokenIndex {};

template <class T>
inline constexpr bool is_index = false;
template <IndexName name>
inline constexpr bool is_index<Index<name>> = true;

template <class T>
inline constexpr bool is_index_sum = false;
template <class... Indices>
inline constexpr bool is_index_sum<IndexSum<Indices...>> = true;

/// The sum type that an index, a sum or a number counts as.
template <class T>
struct AsSum {
  using Type = IndexSum<T>;
};
template <class... Indices>
struct AsSum<IndexSum<Indices...>> {
  using Type = IndexSum<Indices...>;
};
template <std::integral Integer>
struct AsSum<Integer> {
  using Type = IndexSum<>;
};
template <class T>
using AsSumType = typename AsSum<T>::Type;

template <class Left, class Right>
struct Joined;
template <class... Left, class... Right>
struct Joined<IndexSum<Left...>, IndexSum<Right...>> {
  using Type = IndexSum<Left..., Right...>;
};
template <class Left, class Right>
using JoinedSum = typename Joined<AsSumType<Left>, AsSumType<Right>>::Type;

template <class Summand>
AffineIndex affine_of(const Summand& summand) {
  if constexpr (std::integral<Summand>)
    return {{}, static_cast<std::int64_t>(summand)};
  else
    return summand.affine();
}

/// left + factor * right, every index once. A number whose size is above `largest_index_number` becomes one
/// that is, whatever is added to it: Algorithm::check refuses it, which knows the user's line.
AffineIndex added(AffineIndex left, const AffineIndex& right, std::int64_t factor);

}  // namespace detail

template <class T>
concept IsIndex = detail::is_index<T>;
/// What a tensor is indexed with: an index or a sum of indices and numbers.
template <class T>
concept IndexExpression = detail::is_index<T> || detail::is_index_sum<T>;

/// Indices and numbers that make up a sum of indices.
template <class Left, class Right>
concept IndexSummands = (IndexExpression<Left> && (IndexExpression<Right> || std::integral<Right>)) ||
                        (std::integral<Left> && IndexExpression<Right>);

template <class Left, class Right>
  requires IndexSummands<Left, Right>
detail::JoinedSum<Left, Right> operator+(const Left& left, const Right& right) {
  return {detail::added(detail::affine_of(left), detail::affine_of(right), 1)};
}
template <class Left, class Right>
  requires IndexSummands<Left, Right>
detail::JoinedSum<Left, Right> operator-(const Left& left, const Right& right) {
  return {detail::added(detail::affine_of(left), detail::affine_of(right), -1)};
}
template <std::integral Integer, IndexExpression Right>
detail::AsSumType<Right> operator*(Integer left, const Right& right) {
  return {detail::added({}, right.affine(), static_cast<std::int64_t>(left))};
}
template <IndexExpression Left, std::integral Integer>
detail::AsSumType<Left> operator*(const Left& left, Integer right) {
  return right * left;
}

}  // namespace weft
