// A host array: element type, shape, and aligned bytes. What files are read into, what weights are packed
// into, and what kernels on the CPU read and write.
#pragma once

#include <weft/dsl/dtype.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/refused_call.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace weft {

namespace detail {

template <class Value>
constexpr void refuse_values() {
  static_assert(!std::integral<Value>,
                "weft: an array is made of integers alone; found: its shape, or its values; accepted: "
                "Array(DType::f32, {64, 96}) of a shape, Array::of(std::vector{1, 2, 3, 4}).reshaped({2, 2}) "
                "of values");
  static_assert(
      std::integral<Value>,
      "weft: an array is made of its values alone; accepted: Array::of(std::vector{1.0f, 2.0f, 3.0f, "
      "4.0f}).reshaped({2, 2}), or Array(DType::f32, {2, 2}) and .set(i, value)");
}

template <class... Given>
constexpr void refuse_parts_of_array() {
  static_assert(never<Given...>,
                "weft: an array is not made of an element type and a shape; found: the types beside Given; "
                "accepted: Array(DType::f32, {64, "
                "96}), then "
                ".set(i, value); of values Array::of(values).reshaped({64, 96})");
}
template <class Given>
concept IsShape = std::convertible_to<const Given&, std::vector<std::int64_t>>;

}  // namespace detail

/// Row-major array on the host; the bytes start at a multiple of `alignment`. Copies are deep.
class Array {
 public:
  static constexpr std::size_t alignment = 64;

  Array() = default;
  /// Zero-filled. Throws UserError when the shape is negative or its size does not fit 2^63 bytes, and
  /// RuntimeError when the memory cannot be had.
  Array(DType dtype, std::vector<std::int64_t> shape, CallPlace place = {});
  /// Always refused: the element type stands first.
  template <class Never = void>
  Array(std::initializer_list<std::int64_t>, DType) {
    static_assert(
        detail::never<Never>,
        "weft: an array is given its shape before its element type; accepted: Array(DType::f32, {64, "
        "96})");
  }
  template <std::integral... Sizes>
    requires(sizeof...(Sizes) > 0)
  Array(DType, Sizes...) {
    static_assert(detail::never<Sizes...>,
                  "weft: an array is given its sizes one by one; accepted: Array(DType::f32, {64, 96})");
  }
  /// Always refused: values alone, in one pair of braces or a pair for each row.
  template <class Value>
    requires(std::is_arithmetic_v<Value>)
  Array(std::initializer_list<Value>) {
    detail::refuse_values<Value>();
  }
  template <class Value>
    requires(std::is_arithmetic_v<Value>)
  Array(std::initializer_list<std::initializer_list<Value>>) {
    detail::refuse_values<Value>();
  }
  template <class Value, class Allocator>
  Array(const std::vector<Value, Allocator>&) {
    detail::refuse_values<Value>();
  }
  /// Always refused: one part alone, or parts that are none.
  template <class First, class... Rest>
    requires(!std::same_as<First, Array> && !std::same_as<First, DType> && sizeof...(Rest) < 3)
  explicit Array(const First&, const Rest&...) {
    detail::refuse_parts_of_array<First, Rest...>();
  }
  template <class Never = void>
  explicit Array(DType) {
    detail::refuse_parts_of_array<Never>();
  }
  template <class Shape>
    requires(!detail::IsShape<Shape> && !std::integral<Shape>)
  Array(DType, const Shape&, detail::Anything = {}) {
    detail::refuse_parts_of_array<Shape>();
  }
  template <class Values>
    requires(!std::convertible_to<const Values&, CallPlace>)
  Array(DType, std::initializer_list<std::int64_t>, const Values&) {
    detail::refuse_parts_of_array<Values>();
  }
  template <class Values>
    requires(!std::same_as<Values, DType>)
  Array(const Values&, std::initializer_list<detail::Anything>) {
    detail::refuse_parts_of_array<Values>();
  }
  template <class Values>
    requires(!std::same_as<Values, DType>)
  Array(std::initializer_list<std::int64_t>, const Values&) {
    detail::refuse_parts_of_array<Values>();
  }
  WEFT_NO_FUNCTION(Array, from, "Array::of(values).reshaped({64, 96}) of a std::vector")
  WEFT_NO_FUNCTION(Array, from_vector, "Array::of(values).reshaped({64, 96}) of a std::vector")
  WEFT_NO_FUNCTION(Array, zeros, "Array(DType::f32, {64, 96}), which is all zeros")
  WEFT_NO_FUNCTION(Array, empty, "Array(DType::f32, {64, 96}), which is all zeros")
  WEFT_NO_FUNCTION(Array, ones, "Array(DType::f32, {64, 96}) and std::ranges::fill(array.as<f32>(), 1.0f)")
  WEFT_NO_FUNCTION(Array, random, "random_array(DType::f32, {64, 96}, 1): element type, shape, seed")
  WEFT_NO_FUNCTION(Array, randn, "random_array(DType::f32, {64, 96}, 1): element type, shape, seed")
  WEFT_NO_FUNCTION(Array, rand, "random_array(DType::f32, {64, 96}, 1): element type, shape, seed")
  template <class Place>
  double operator[](const Place&) const {
    static_assert(
        detail::never<Place>,
        "weft: there is no operator[]; accepted: .as<f32>()[i], .get(i) and .set(i, value) of elements "
        "counted in row-major order");
    return 0;
  }
  WEFT_NO_MEMBER(double, operator(), ".get(i) and .set(i, value) of elements counted in row-major order")
  WEFT_NO_MEMBER(double, at, ".get(i) and .set(i, value) of elements counted in row-major order")
  WEFT_NO_MEMBER(const double*, begin, "for (const float x : array.as<f32>())")
  template <class Never = void>
  const double* end() const;  ///< refused with begin()
  WEFT_NO_MEMBER(void, fill, "std::ranges::fill(array.as<f32>(), value); a new Array is all zeros")
  /// One-dimensional copy of `values`.
  template <class T>
  static Array of(std::span<const T> values) {
    Array array(dtype_of<T>, {static_cast<std::int64_t>(values.size())});
    for (std::size_t i = 0; i < values.size(); ++i) array.as<T>()[i] = values[i];
    return array;
  }
  template <class T>
  static Array of(const std::vector<T>& values) {
    return of(std::span<const T>(values));
  }

  /// Always refused: values stand in a vector.
  template <class Value, class... Rest>
    requires std::is_arithmetic_v<Value>
  static Array of(Value, Rest...) {
    detail::refuse_values<Value>();
    return Array();
  }
  template <class Value>
  static Array of(std::initializer_list<Value>) {
    detail::refuse_values<Value>();
    return Array();
  }

  Array(const Array& other);
  Array(Array&& other) noexcept;  ///< leaves the other one without elements
  Array& operator=(Array other) noexcept;
  ~Array() = default;

  DType dtype() const { return dtype_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  std::int64_t size() const { return size_; }  ///< elements
  std::size_t bytes() const { return static_cast<std::size_t>(size_) * size_of(dtype_); }
  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }

  /// The elements as T; UserError when T is not the element type.
  template <class T>
  std::span<T> as(CallPlace place = {}) {
    check_type(dtype_of<T>, place);
    return {reinterpret_cast<T*>(data_.get()), static_cast<std::size_t>(size_)};
  }
  template <class T>
  std::span<const T> as(CallPlace place = {}) const {
    check_type(dtype_of<T>, place);
    return {reinterpret_cast<const T*>(data_.get()), static_cast<std::size_t>(size_)};
  }

  /// Element `index` in row-major order, as the nearest double (i64 beyond 2^53 is rounded). UserError, here
  /// and below, when there is no such element.
  double get(std::int64_t index, CallPlace place = {}) const;
  /// Stores `value`, rounded to the element type (to nearest, ties to even). An integer type takes
  /// its nearest end for what lies beyond it and 0 for NaN; a boolean is true for everything but 0.
  void set(std::int64_t index, double value, CallPlace place = {});
  /// Element `index` as an integer; UserError for floating types.
  std::int64_t get_integer(std::int64_t index, CallPlace place = {}) const;
  /// Element `from_index` of an array of the same type, bit for bit. Both have to be there.
  void copy_element(std::int64_t index, const Array& from, std::int64_t from_index);
  /// True when every bit of the element is zero: +0.0 but not -0.0.
  bool is_zero_bits(std::int64_t index) const;

  /// The same bytes under another shape; UserError when that has another size.
  Array reshaped(std::vector<std::int64_t> shape, CallPlace place = {}) &&;
  /// Always refused: its bytes would stand in two arrays.
  template <class Never = void>
  Array reshaped(const std::vector<std::int64_t>&, CallPlace = {}) const& {
    static_assert(
        detail::never<Never>,
        "weft: an array is reshaped that is still in use; accepted: std::move(array).reshaped({2, 2}), "
        "or Array(array).reshaped({2, 2}) of a copy");
    return Array();
  }
  WEFT_NO_MEMBER(Array, reshape,
                 "std::move(array).reshaped({2, 2}), or Array(array).reshaped({2, 2}) of a copy")
  /// Element by element into another type, rounded to nearest.
  Array converted(DType dtype) const;

 private:
  struct Free {
    void operator()(std::byte* bytes) const;
  };
  void check_type(DType asked, CallPlace place) const {
    if (asked != dtype_) refuse_type(asked, place);
  }
  [[noreturn]] void refuse_type(DType asked, CallPlace place) const;
  void check_index(std::int64_t index, CallPlace place) const;

  DType dtype_ = DType::f32;
  std::vector<std::int64_t> shape_{0};
  std::int64_t size_ = 0;
  std::unique_ptr<std::byte[], Free> data_;
};

/// "f32 [64, 96]: 0.5, -1, 2, …": type, shape, and the first elements.
std::ostream& operator<<(std::ostream& stream, const Array& array);

/// "[64, 576]"
std::string text_of_shape(std::span<const std::int64_t> shape);

/// The number of elements of a shape; UserError (naming `what`) when an extent is negative or the product
/// does not fit in 63 bits.
std::int64_t element_count(std::span<const std::int64_t> shape, const std::string& what);

}  // namespace weft
