#include <weft/dsl/arithmetic.h>
#include <weft/formats/array.h>
#include <weft/formats/element_type.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <ostream>
#include <type_traits>
#include <utility>

namespace weft {
namespace {

/// Not around every access, which would cost more than the access.
[[noreturn]] void refuse(CallPlace place, UserError::Report report) {
  user_call(place, [&] { throw UserError(std::move(report)); });
  throw InternalError("an error was not thrown");
}

template <class T>
constexpr bool is_narrow = size_of(dtype_of<T>) <= 2 && is_float(dtype_of<T>);

/// To such a type by way of f32 rounded to odd, so that rounding twice gives what rounding once would.
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

Array::Array(DType dtype, std::vector<std::int64_t> shape, CallPlace place)
    : dtype_(dtype), shape_(std::move(shape)) {
  const auto limit = static_cast<std::size_t>(INT64_MAX) / size_of(dtype);
  size_ = user_call(place, [&] { return element_count(shape_, "an array"); });
  if (static_cast<std::size_t>(size_) > limit)
    refuse(place, {"an array of " + text_of_shape(shape_) + " is too large",
                   {},
                   std::to_string(size_) + " elements of " + std::string(name_of(dtype)),
                   "at most " + std::to_string(limit) + " elements, which are fewer than 2^63 bytes"});
  const std::size_t rounded = ceil_divide(bytes(), alignment) * alignment;
  if (rounded == 0) return;
  data_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, rounded)));
  if (!data_)
    throw RuntimeError("no memory for an array of " + text_of_shape(shape_) + " " +
                       std::string(name_of(dtype)) + ": " + std::to_string(rounded) + " bytes");
  std::memset(data_.get(), 0, rounded);
}

Array::Array(const Array& other) : Array(other.dtype_, other.shape_) {
  if (other.data_) std::memcpy(data_.get(), other.data_.get(), bytes());
}

Array::Array(Array&& other) noexcept
    : dtype_(other.dtype_),
      shape_(std::exchange(other.shape_, {})),
      size_(std::exchange(other.size_, 0)),
      data_(std::move(other.data_)) {}

Array& Array::operator=(Array other) noexcept {
  dtype_ = other.dtype_;
  shape_ = std::move(other.shape_);
  size_ = other.size_;
  data_ = std::move(other.data_);
  return *this;
}

void Array::refuse_type(DType asked, CallPlace place) const {
  const std::string own(name_of(dtype_));
  refuse(place, {"the elements of an array are read as another type",
                 {},
                 std::string(name_of(asked)) + ", of an array of " + own + " " + text_of_shape(shape_),
                 "as<T>() with the type of " + own + ", or converted(DType::" +
                     (asked == DType::boolean ? "boolean" : std::string(name_of(asked))) + ") before"});
}

void Array::check_index(std::int64_t index, CallPlace place) const {
  if (index >= 0 && index < size_) return;
  refuse(place, {"an array does not have the element that is asked for",
                 {},
                 "element " + std::to_string(index) + " of an array of " + text_of_shape(shape_),
                 size_ == 0 ? "an array with elements" : "0 to " + std::to_string(size_ - 1)});
}

double Array::get(std::int64_t index, CallPlace place) const {
  check_index(index, place);
  return with_element_type(dtype_, [&]<class T>(ElementType<T>) -> double {
    const T value = as<T>()[index];
    if constexpr (is_narrow<T>)
      return static_cast<double>(static_cast<float>(value));
    else
      return static_cast<double>(value);
  });
}

void Array::set(std::int64_t index, double value, CallPlace place) {
  check_index(index, place);
  with_element_type(dtype_, [&]<class T>(ElementType<T>) {
    if constexpr (is_narrow<T>) {
      as<T>()[index] = T(round_to_odd(value));
    } else if constexpr (std::is_integral_v<T>) {
      as<T>()[index] = to_integer<T>(value);
    } else {
      as<T>()[index] = static_cast<T>(value);
    }
  });
}

std::int64_t Array::get_integer(std::int64_t index, CallPlace place) const {
  check_index(index, place);
  return with_element_type(dtype_, [&]<class T>(ElementType<T>) -> std::int64_t {
    if constexpr (std::is_integral_v<T>)
      return static_cast<std::int64_t>(as<T>()[index]);
    else
      refuse(place, {"the elements of an array are read as integers",
                     {},
                     "an array of " + std::string(name_of(dtype_)),
                     "get(), or an array of integers"});
  });
}

void Array::copy_element(std::int64_t index, const Array& from, std::int64_t from_index) {
  // Without internal_check, which would make its text for every element.
  if (from.dtype_ != dtype_) throw InternalError("elements are copied between types");
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

Array Array::reshaped(std::vector<std::int64_t> shape, CallPlace place) && {
  const std::int64_t count = user_call(place, [&] { return element_count(shape, "an array"); });
  if (count != size_)
    refuse(place, {"an array is reshaped to another number of elements",
                   {},
                   text_of_shape(shape) + ", which has " + std::to_string(count),
                   "a shape with the " + std::to_string(size_) + " elements of " + text_of_shape(shape_)});
  shape_ = std::move(shape);
  return std::move(*this);
}

Array Array::converted(DType dtype) const {
  if (dtype == dtype_) return *this;
  Array result(dtype, shape_);
  for (std::int64_t i = 0; i < size_; ++i) result.set(i, get(i));
  return result;
}

std::ostream& operator<<(std::ostream& stream, const Array& array) {
  constexpr std::int64_t most = 8;
  stream << name_of(array.dtype()) << " " << text_of_shape(array.shape());
  for (std::int64_t i = 0; i < std::min(array.size(), most); ++i)
    stream << (i == 0 ? ": " : ", ") << array.get(i);
  return stream << (array.size() > most ? ", …" : "");
}

std::string text_of_shape(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

std::int64_t element_count(std::span<const std::int64_t> shape, const std::string& what) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count))
      throw UserError(what + " has an impossible shape", text_of_shape(shape),
                      "extents of at least 0 whose product is below 2^63");
  }
  return count;
}

}  // namespace weft
