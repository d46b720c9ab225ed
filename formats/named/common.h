// What the pack functions of several formats share.
#pragma once

#include <weft/formats/sparse_tensor.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::named {

/// Those of formats that have a row order.
inline constexpr std::array<FormatParameter, 2> row_parameters{{
    {"order", "given, length, dealt or similar", "given", "in which order rows are stored"},
    {"rows", "the rows of a block, at least 1", "64",
     "rows of a thread block, for the orders dealt and similar"},
}};
inline constexpr FormatParameter index_parameter{"index", "a power of two from 16 to 32", "32",
                                                 "bits of a column number; 16 for at most 32,768 columns"};

/// UserError when `format` has a parameter that is not among `known`.
void check_parameters(const Format& format, std::initializer_list<std::string_view> known);

/// A parameter; UserError unless it is a power of two in that range.
std::int64_t power_of_two(const Format& format, const char* name, std::int64_t otherwise, std::int64_t least,
                          std::int64_t most);

/// Of column numbers, as the parameter `index` says: 16 or 32 bits, 32 where it is not given. UserError where
/// the weight has more columns than 16 bits number.
DType column_type(const WeightMatrix& weights, const Format& format);

/// UserError when `positions` places cannot be numbered in i32. `what` says what is counted.
void check_positions(const WeightMatrix& weights, const Format& format, std::int64_t positions,
                     std::string_view what);

/// The rows of a weight in the order that a format's parameters "order" and "rows" ask for.
class RowLayout {
 public:
  /// UserError when a parameter has a value that it cannot have.
  RowLayout(const WeightMatrix& weights, const Format& format);
  /// In an order that the format has found itself.
  RowLayout(const WeightMatrix& weights, std::vector<std::int32_t> order);
  RowLayout(const RowLayout&) = delete;
  RowLayout& operator=(const RowLayout&) = delete;

  /// Its rows are those that are stored first, second, …
  const WeightMatrix& weights() const { return ordered_ ? *ordered_ : given_; }
  /// Levels that find the row, and the array that they name, to stand before a format's own.
  std::vector<Level> levels() const;
  std::vector<SparseTensor::NamedArray> arrays() const;

 private:
  const WeightMatrix& given_;
  std::vector<std::int32_t> order_;  ///< empty: as given
  std::optional<WeightMatrix> ordered_;
};
/// The parameters of a format that has a row order.
Format with_row_options(std::string name, const formats::RowOptions& options);

/// An i32 array of `size` elements.
Array index_array(std::int64_t size);

/// The row offsets of the weights as i32. The number of entries has been checked.
Array row_offsets(const WeightMatrix& weights);

}  // namespace weft::named
