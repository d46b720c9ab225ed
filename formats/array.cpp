#include <weft/dsl/errors.h>
#include <weft/formats/array.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>

namespace weft {
namespace {

/// Calls `function` with a null pointer of the C++ type that `dtype` stands for.
template <class Function>
decltype(auto) with_type(DType dtype, Function&& function) {
  switch (dtype) {
    case DType::f16:
      return function(static_cast<f16*>(nullptr));
    case DType::bf16:
      return function(static_cast<bf16*>(nullptr));
    case DType::f32:
      return function(static_cast<float*>(nullptr));
    case DType::f64:
      return function(static_cast<double*>(nullptr));
    case DType::i8:
      return function(static_cast<std::int8_t*>(nullptr));
    case DType::u8:
      return function(static_cast<std::uint8_t*>(nullptr));
    case DType::i16:
      return function(static_cast<std::int16_t*>(nullptr));
    case DType::u16:
      return function(static_cast<std::uint16_t*>(nullptr));
    case DType::i32:
      return function(static_cast<std::int32_t*>(nullptr));
    case DType::u32:
      return function(static_cast<std::uint32_t*>(nullptr));
    case DType::i64:
      return function(static_cast<std::int64_t*>(nullptr));
    case DType::u64:
      return function(static_cast<std::uint64_t*>(nullptr));
    case DType::boolean:
      return function(static_cast<bool*>(nullptr));
  }
  throw InternalError("an element type outside the list");
}

template <class T>
constexpr bool is_half = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;

/// To a 16-bit type by way of f32 rounded to odd, so that rounding twice gives what rounding once would.
float round_to_odd(double value) {
  auto narrow = static_cast<float>(value);
  if (static_cast<double>(narrow) == value || narrow != narrow) return narrow;
  std::uint32_t bits = 0;
  std::memcpy(&bits, &narrow, sizeof bits);
  const double magnitude = value < 0 ? -value : value;
  const double rounded = narrow < 0 ? -static_cast<double>(narrow) : static_cast<double>(narrow);
  if (rounded > magnitude) --bits;
  bits |= 1U;
  std::memcpy(&narrow, &bits, sizeof bits);
  return narrow;
}

template <class T>
T to_integer(double value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else {
    // The largest value as a double may be one above itself, hence >=.
    constexpr auto lowest = static_cast<double>(std::numeric_limits<T>::lowest());
    constexpr auto largest = static_cast<double>(std::numeric_limits<T>::max());
    const double rounded = std::nearbyint(value);
    if (rounded != rounded) return 0;
    if (rounded <= lowest) return std::numeric_limits<T>::lowest();
    if (rounded >= largest) return std::numeric_limits<T>::max();
    return static_cast<T>(rounded);
  }
}

}  // namespace

void Array::Free::operator()(std::byte* bytes) const {
  std::free(bytes);
}

Array::Array(DType dtype, std::vector<std::int64_t> shape) : dtype_(dtype), shape_(std::move(shape)) {
  size_ = element_count(shape_, "array");
  const auto limit = static_cast<std::size_t>(INT64_MAX) / size_of(dtype);
  if (static_cast<std::size_t>(size_) > limit) {
    throw UserError({"an array of " + text_of_shape(shape_) + " is too large",
                     {},
                     std::to_string(size_) + " elements",
                     "fewer than 2^63 bytes"});
  }
  const std::size_t rounded = (bytes() + alignment - 1) / alignment * alignment;
  if (rounded == 0) return;
  data_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, rounded)));
  if (!data_) {
    throw RuntimeError("no memory for an array of " + text_of_shape(shape_) + " " +
                       std::string(name_of(dtype)) + ": " + std::to_string(rounded) + " bytes");
  }
  std::memset(data_.get(), 0, rounded);
}

Array::Array(const Array& other) : Array(other.dtype_, other.shape_) {
  if (other.data_) std::memcpy(data_.get(), other.data_.get(), bytes());
}

Array& Array::operator=(const Array& other) {
  if (this != &other) *this = Array(other);
  return *this;
}

void Array::check_type(DType asked) const {
  if (asked == dtype_) return;  // before any text is made: this runs for every element that is read
  throw InternalError("an array of " + std::string(name_of(dtype_)) + " was read as " +
                      std::string(name_of(asked)));
}

double Array::get(std::int64_t index) const {
  return with_type(dtype_, [&](auto* null) -> double {
    using T = std::remove_pointer_t<decltype(null)>;
    const T value = as<T>()[static_cast<std::size_t>(index)];
    if constexpr (is_half<T>) {
      return static_cast<double>(static_cast<float>(value));
    } else {
      return static_cast<double>(value);
    }
  });
}

void Array::set(std::int64_t index, double value) {
  with_type(dtype_, [&](auto* null) {
    using T = std::remove_pointer_t<decltype(null)>;
    if constexpr (is_half<T>) {
      as<T>()[static_cast<std::size_t>(index)] = T(round_to_odd(value));
    } else if constexpr (std::is_integral_v<T>) {
      as<T>()[static_cast<std::size_t>(index)] = to_integer<T>(value);
    } else {
      as<T>()[static_cast<std::size_t>(index)] = static_cast<T>(value);
    }
  });
}

std::int64_t Array::get_integer(std::int64_t index) const {
  return with_type(dtype_, [&](auto* null) -> std::int64_t {
    using T = std::remove_pointer_t<decltype(null)>;
    if constexpr (std::is_integral_v<T>) {
      return static_cast<std::int64_t>(as<T>()[static_cast<std::size_t>(index)]);
    } else {
      throw InternalError("an array of " + std::string(name_of(dtype_)) + " was read as integers");
    }
  });
}

void Array::copy_element(std::int64_t index, const Array& from, std::int64_t from_index) {
  from.check_type(dtype_);
  const std::size_t width = size_of(dtype_);
  std::memcpy(data_.get() + static_cast<std::size_t>(index) * width,
              from.data_.get() + static_cast<std::size_t>(from_index) * width, width);
}

bool Array::is_zero_bits(std::int64_t index) const {
  const std::size_t width = size_of(dtype_);
  const std::byte* element = data_.get() + static_cast<std::size_t>(index) * width;
  for (std::size_t i = 0; i < width; ++i) {
    if (element[i] != std::byte{0}) return false;
  }
  return true;
}

Array Array::reshaped(std::vector<std::int64_t> shape) && {
  internal_check(element_count(shape, "array") == size_, "a reshape from " + text_of_shape(shape_) + " to " +
                                                             text_of_shape(shape) + " changes the size");
  shape_ = std::move(shape);
  return std::move(*this);
}

Array Array::converted(DType dtype) const {
  if (dtype == dtype_) return *this;
  Array result(dtype, shape_);
  for (std::int64_t i = 0; i < size_; ++i) result.set(i, get(i));
  return result;
}

std::string text_of_shape(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

std::int64_t element_count(std::span<const std::int64_t> shape, const std::string& what) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count)) {
      throw UserError({what + " has an impossible shape",
                       {},
                       text_of_shape(shape),
                       "extents of at least 0 whose product is below 2^63"});
    }
  }
  return count;
}

}  // namespace weft
