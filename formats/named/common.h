// What the pack functions of several formats share.
#pragma once

#include <weft/formats/sparse_tensor.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <iterator>
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

// The rows of the list of formats, each filled by the file of its name.
NamedFormat dense(), csr(), csc(), coo(), ell(), padded_csr(), bcsr(), blocked_ell(), hb_ell(), vector_wise(),
    sliced_ell(), shfl_bw(), bitmap(), n_m(), v_n_m(), column_quads(), column_vectors(), column_blocks(),
    column_windows(), lane_streams(), pair_words(), mixed();

/// UserError when `format` has a parameter that is not among `known`.
void check_parameters(const Format& format, std::initializer_list<std::string_view> known);

/// A parameter, `otherwise` where the format leaves it out.
std::int64_t parameter(const Format& format, const std::string& name, std::int64_t otherwise);
/// The same; UserError unless it is in that range, or a power of two in it.
std::int64_t number_within(const Format& format, const std::string& name, std::int64_t otherwise,
                           std::int64_t least, std::int64_t most);
std::int64_t power_of_two(const Format& format, const std::string& name, std::int64_t otherwise,
                          std::int64_t least, std::int64_t most);
[[noreturn]] void refuse_parameter(const Format& format, const std::string& name, std::int64_t value,
                                   std::string accepted);

/// Of column numbers, as the parameter `index` says: 16 or 32 bits, 32 where it is not given. UserError where
/// the weight has more columns than 16 bits number.
DType column_type(const WeightMatrix& weights, const Format& format);

/// UserError when `positions` places cannot be numbered in i32. `what` says what is counted.
void check_positions(const WeightMatrix& weights, const Format& format, std::int64_t positions,
                     std::string_view what);

/// The arrays, moved: a list of initializers would copy them.
template <std::size_t count>
std::vector<SparseTensor::NamedArray> arrays_of(SparseTensor::NamedArray (&&arrays)[count]) {
  return {std::make_move_iterator(std::begin(arrays)), std::make_move_iterator(std::end(arrays))};
}

/// The weight as levels and arrays.
SparseTensor packed(const WeightMatrix& weights, const Format& format, std::vector<Level> levels,
                    std::vector<SparseTensor::NamedArray> arrays, ValueOrder order = {});

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
  /// The weight as levels and arrays, behind those that find the row.
  SparseTensor packed(const Format& format, std::vector<Level> levels,
                      std::vector<SparseTensor::NamedArray> arrays) const;

 private:
  const WeightMatrix& given_;
  std::vector<std::int32_t> order_;  ///< empty: as given
  std::optional<WeightMatrix> ordered_;
};
/// The parameters of a format that has a row order.
Format with_row_options(std::string name, const formats::RowOptions& options);

/// An i32 array of `size` elements, all `filling`.
Array index_array(std::int64_t size, std::int32_t filling = 0);
/// The numbers as i32. That they fit has been checked.
template <class Numbers>
Array indices_of(const Numbers& numbers) {
  Array array = index_array(std::ssize(numbers));
  std::ranges::transform(numbers, array.as<std::int32_t>().begin(),
                         [](auto number) { return static_cast<std::int32_t>(number); });
  return array;
}

/// The column of each place, which the array "column" lists, -1 where there is none.
inline Level padded_columns(std::int64_t stride = 1) {
  return {.kind = LevelKind::singleton,
          .dimension = Dimension::column,
          .stride = stride,
          .index = "column",
          .padded = true};
}
/// The blocks of a group of rows, which the array "begin" counts. The group is level 0.
inline Level blocks_of_group() {
  return {.kind = LevelKind::compressed,
          .dimension = Dimension::none,
          .begin = "begin",
          .parent = 0,
          .loop = "block"};
}

}  // namespace weft::named
