// Indices: one type a name, so that the compiler sees which index stands where; and their sums, 2 * p + r
// - 1.
#pragma once

#include <weft/dsl/algorithm.h>
#include <weft/dsl/loop.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>

namespace weft {

/// The text of an index's name as part of its type.
template <std::size_t size>
struct IndexName {
  char text[size];

  consteval IndexName(const char (&name)[size]) {
    for (std::size_t i = 0; i < size; ++i) text[i] = name[i];
  }
};

/// A loop variable of the algorithm. In a schedule it names the loop: `m`, `m.outer`, `m.inner.outer`, and a
/// loop with a factor: `m = 64`, `m = knob("tile_m", {32, 64})`.
template <IndexName name>
struct Index {
  static constexpr LoopPart<2> outer{name.text, 2};
  static constexpr LoopPart<2> inner{name.text, 3};

  operator LoopName() const { return name.text; }
  template <std::integral Integer>
  LoopFactor operator=(Integer factor) const {
    return {*this, static_cast<std::int64_t>(factor)};
  }
  LoopFactor operator=(KnobChoice choice) const { return {*this, std::move(choice)}; }
  template <detail::NoFactor Other>
  LoopFactor operator=(const Other&) const {
    detail::refuse_factor<Other>();
    return {};
  }
  template <class Number>
  LoopFactor operator=(std::initializer_list<Number>) const {
    detail::refuse_factor<std::initializer_list<Number>>();
    return {};
  }

  static const char* text() { return name.text; }
  static AffineIndex affine() { return {{{name.text, 1}}, 0}; }
};

/// Declares an index of that name, inside or outside of functions: `WEFT_INDEX(m);`
#define WEFT_INDEX(name) \
  [[maybe_unused]] constexpr ::weft::Index<#name> name {}

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

/// The sum type that an index or a sum counts as.
template <class T>
struct AsSum {
  using Type = IndexSum<T>;
};
template <class... Indices>
struct AsSum<IndexSum<Indices...>> {
  using Type = IndexSum<Indices...>;
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

/// left + factor * right, every index once. A number whose size is above `largest_index_number` becomes one
/// that is, whatever is added to it: Algorithm::check refuses it, which knows the user's line.
AffineIndex added(AffineIndex left, const AffineIndex& right, std::int64_t factor);
AffineIndex constant_index(std::int64_t value);
AffineIndex scaled(const AffineIndex& index, std::int64_t factor);

}  // namespace detail

template <class T>
concept IsIndex = detail::is_index<T>;
/// What a tensor is indexed with: an index or a sum of indices and numbers.
template <class T>
concept IndexExpression = detail::is_index<T> || detail::is_index_sum<T>;

template <IndexExpression Left, IndexExpression Right>
detail::JoinedSum<Left, Right> operator+(const Left& left, const Right& right) {
  return {detail::added(left.affine(), right.affine(), 1)};
}
template <IndexExpression Left, IndexExpression Right>
detail::JoinedSum<Left, Right> operator-(const Left& left, const Right& right) {
  return {detail::added(left.affine(), right.affine(), -1)};
}
template <IndexExpression Left, std::integral Integer>
detail::AsSumType<Left> operator+(const Left& left, Integer right) {
  return {detail::added(left.affine(), detail::constant_index(static_cast<std::int64_t>(right)), 1)};
}
template <IndexExpression Left, std::integral Integer>
detail::AsSumType<Left> operator-(const Left& left, Integer right) {
  return {detail::added(left.affine(), detail::constant_index(static_cast<std::int64_t>(right)), -1)};
}
template <std::integral Integer, IndexExpression Right>
detail::AsSumType<Right> operator+(Integer left, const Right& right) {
  return {detail::added(right.affine(), detail::constant_index(static_cast<std::int64_t>(left)), 1)};
}
template <std::integral Integer, IndexExpression Right>
detail::AsSumType<Right> operator-(Integer left, const Right& right) {
  return {detail::added(detail::constant_index(static_cast<std::int64_t>(left)), right.affine(), -1)};
}
template <std::integral Integer, IndexExpression Right>
detail::AsSumType<Right> operator*(Integer left, const Right& right) {
  return {detail::scaled(right.affine(), static_cast<std::int64_t>(left))};
}
template <IndexExpression Left, std::integral Integer>
detail::AsSumType<Left> operator*(const Left& left, Integer right) {
  return {detail::scaled(left.affine(), static_cast<std::int64_t>(right))};
}

}  // namespace weft
