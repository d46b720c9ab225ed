#include <fmt/format.h>
#include <weft/formats/element_type.h>
#include <weft/formats/random.h>
#include <weft/formats/weight_matrix.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

namespace weft {
namespace {

[[noreturn]] void refuse(const std::string& origin, std::string where, std::string found,
                         std::string accepted) {
  throw UserError(
      origin.empty() ? "these weights cannot be used" : "the weights of " + origin + " cannot be used",
      std::move(where), std::move(found), std::move(accepted));
}

void check_extents(std::int64_t rows, std::int64_t columns, const std::string& origin) {
  if (rows < 0 || columns < 0 || rows > largest_extent || columns > largest_extent)
    refuse(origin, "the shape", fmt::format("{} rows and {} columns", rows, columns),
           fmt::format("0 to {} of each", largest_extent));
}

/// Appends the column of every element that is not zero, and a row offset after each row.
template <class Word>
void collect_positions(const Array& dense, WeightMatrix& result, std::vector<std::int64_t>& place) {
  // Floating types have a sign bit, which alone does not make a number other than zero.
  constexpr auto all = static_cast<Word>(~Word{0});
  const auto significant = is_float(dense.dtype()) ? static_cast<Word>(all >> 1) : all;
  const std::byte* bytes = dense.data();
  std::int64_t index = 0;
  for (std::int64_t row = 0; row < result.rows; ++row) {
    for (std::int64_t column = 0; column < result.columns; ++column, ++index) {
      Word word;
      std::memcpy(&word, bytes + static_cast<std::size_t>(index) * sizeof word, sizeof word);
      if ((word & significant) == 0) continue;
      result.column.push_back(static_cast<std::int32_t>(column));
      place.push_back(index);
    }
    result.row_begin.push_back(result.stored());
  }
}

void collect_positions(const Array& dense, WeightMatrix& result, std::vector<std::int64_t>& place) {
  switch (size_of(dense.dtype())) {
    case 1: return collect_positions<std::uint8_t>(dense, result, place);
    case 2: return collect_positions<std::uint16_t>(dense, result, place);
    case 4: return collect_positions<std::uint32_t>(dense, result, place);
    default: return collect_positions<std::uint64_t>(dense, result, place);
  }
}

/// Integers are added in their own type; false when the sum does not fit.
bool add_element(Array& to, std::int64_t to_index, const Array& from, std::int64_t from_index) {
  return with_element_type(from.dtype(), [&]<class T>(ElementType<T>) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      T& sum = to.as<T>()[to_index];
      return !__builtin_add_overflow(sum, from.as<T>()[from_index], &sum);
    } else {
      to.set(to_index, to.get(to_index) + from.get(from_index));
      return true;
    }
  });
}

/// The entries' numbers, ordered by row, then by column; entries at one place keep their order.
std::vector<std::int64_t> order_by_place(std::int64_t rows, const std::vector<std::int64_t>& row,
                                         const std::vector<std::int64_t>& column) {
  std::vector<std::int64_t> next(static_cast<std::size_t>(rows) + 1, 0);
  for (const std::int64_t r : row) ++next[static_cast<std::size_t>(r) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  const std::vector<std::int64_t> begin = next;
  std::vector<std::int64_t> order(row.size());
  for (std::size_t i = 0; i < row.size(); ++i) order[next[row[i]]++] = static_cast<std::int64_t>(i);
  for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
    std::stable_sort(order.begin() + begin[r], order.begin() + begin[r + 1],
                     [&](std::int64_t left, std::int64_t right) { return column[left] < column[right]; });
  }
  return order;
}

void check_coordinates(std::int64_t rows, std::int64_t columns, const std::vector<std::int64_t>& row,
                       const std::vector<std::int64_t>& column, const Array& values,
                       const std::string& origin) {
  check_extents(rows, columns, origin);
  if (row.size() != column.size() || static_cast<std::int64_t>(row.size()) != values.size())
    refuse(origin, "the coordinates",
           fmt::format("{} rows, {} columns, {} values", row.size(), column.size(), values.size()),
           "as many of each");
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] >= 0 && row[i] < rows && column[i] >= 0 && column[i] < columns) continue;
    refuse(origin, fmt::format("entry {}", i), fmt::format("row {}, column {}", row[i], column[i]),
           fmt::format("a place inside {} rows and {} columns, counted from 0", rows, columns));
  }
}

/// from_coordinates, once the coordinates are known to be right.
WeightMatrix sorted_entries(std::int64_t rows, std::int64_t columns, const std::vector<std::int64_t>& row,
                            const std::vector<std::int64_t>& column, const Array& values,
                            std::string origin) {
  const std::vector<std::int64_t> order = order_by_place(rows, row, column);
  const auto same_place = [&](std::int64_t left, std::int64_t right) {
    const auto l = static_cast<std::size_t>(left);
    const auto r = static_cast<std::size_t>(right);
    return row[l] == row[r] && column[l] == column[r];
  };
  std::int64_t distinct = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || !same_place(order[i - 1], order[i])) ++distinct;
  }

  WeightMatrix result;
  result.shape = {rows, columns};
  result.rows = rows;
  result.columns = columns;
  result.row_begin.assign(static_cast<std::size_t>(rows) + 1, 0);
  result.values = Array(values.dtype(), {distinct});
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto entry = static_cast<std::size_t>(order[i]);
    if (i == 0 || !same_place(order[i - 1], order[i])) {
      result.values.copy_element(result.stored(), values, order[i]);
      result.column.push_back(static_cast<std::int32_t>(column[entry]));
      ++result.row_begin[static_cast<std::size_t>(row[entry]) + 1];
    } else if (!add_element(result.values, result.stored() - 1, values, order[i])) {
      refuse(origin, fmt::format("row {}, column {}", row[entry], column[entry]),
             fmt::format("several entries whose sum does not fit {}", name_of(values.dtype())),
             "a sum inside the range of the element type");
    }
  }
  std::partial_sum(result.row_begin.begin(), result.row_begin.end(), result.row_begin.begin());
  result.origin = std::move(origin);
  return result;
}

/// Columns in range and ascending in one row whose offsets have been checked.
void check_row(const WeightMatrix& weights, std::int64_t row) {
  std::int64_t previous = -1;
  for (const std::int64_t i : weights.entries(row)) {
    const std::int64_t column = weights.column_of(i);
    if (column < 0 || column >= weights.columns)
      refuse(weights.origin, fmt::format("row {}, entry {}", row, i), fmt::format("column {}", column),
             fmt::format("columns 0 to {}", weights.columns - 1));
    if (column <= previous)
      refuse(weights.origin, fmt::format("row {}, entry {}", row, i),
             fmt::format("column {} after column {}", column, previous), "ascending columns, none twice");
    previous = column;
  }
}

/// What WeightMatrix::check demands.
void check_matrix(const WeightMatrix& weights) {
  const std::int64_t rows = weights.rows;
  const std::int64_t stored = weights.stored();
  const std::vector<std::int64_t>& begin = weights.row_begin;
  check_extents(rows, weights.columns, weights.origin);
  if (!makes_up(weights.shape, rows, weights.columns))
    refuse(weights.origin, "the shape",
           fmt::format("{} for {} rows and {} columns", text_of_shape(weights.shape), rows, weights.columns),
           fmt::format("first dimensions whose product is {}, others whose product is {}, as [{}, {}] has",
                       rows, weights.columns, rows, weights.columns));
  if (std::ssize(begin) != rows + 1 || begin.front() != 0)
    refuse(weights.origin, "the row offsets",
           fmt::format("{} offsets for {} rows{}", begin.size(), rows,
                       begin.empty() ? "" : fmt::format(", the first of them {}", begin.front())),
           fmt::format("{} offsets, the first of them 0", rows + 1));
  if (!weights.row_scale.empty() && std::ssize(weights.row_scale) != rows)
    refuse(weights.origin, "the scales", fmt::format("{} scales", weights.row_scale.size()),
           fmt::format("{}, one for each row, or none", rows));
  if (weights.values.size() != stored)
    refuse(weights.origin, "the values",
           fmt::format("{} values for {} columns", weights.values.size(), stored),
           fmt::format("{} values, one for each stored column", stored));
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t first = begin[row];
    const std::int64_t last = begin[static_cast<std::size_t>(row) + 1];
    if (last < first || last > stored)
      refuse(weights.origin, fmt::format("row {}", row), fmt::format("offsets {} to {}", first, last),
             fmt::format("offsets that do not decrease and end by {}", stored));
    check_row(weights, row);
  }
  if (begin.back() != stored)
    refuse(weights.origin, "the last row offset", std::to_string(begin.back()),
           fmt::format("{}, the number of entries", stored));
}

/// Rows and columns of a shape whose first dimensions are the rows.
std::pair<std::int64_t, std::int64_t> matrix_of(std::span<const std::int64_t> shape,
                                                std::int64_t row_dimensions, const std::string& origin) {
  if (shape.empty()) refuse(origin, "the shape", "a single number", "at least one dimension");
  const std::int64_t most = std::max<std::int64_t>(1, std::ssize(shape) - 1);
  if (row_dimensions < 1 || row_dimensions > most)
    refuse(origin, "the dimensions that are rows",
           fmt::format("{} of the {} of {}", row_dimensions, shape.size(), text_of_shape(shape)),
           most == 1 ? "row_dimensions = 1" : fmt::format("row_dimensions from 1 to {}", most));
  // A vector is one row.
  const std::size_t first = shape.size() == 1 ? 0 : static_cast<std::size_t>(row_dimensions);
  const std::int64_t rows = element_count(shape.first(first), "the weight");
  const std::int64_t columns = element_count(shape.subspan(first), "the weight");
  check_extents(rows, columns, origin);
  return {rows, columns};
}

/// Of as many rows: each scale is of all rows that its own has become.
std::vector<float> scales_of(const WeightMatrix& weights, std::int64_t rows) {
  if (weights.row_scale.empty() || rows == weights.rows) return weights.row_scale;
  if (weights.rows == 0 || rows % weights.rows != 0)
    refuse(weights.origin, "the scales of rows", fmt::format("{} scales", weights.rows),
           fmt::format("as many rows, or a multiple, and not {}", rows));
  std::vector<float> scales;
  for (std::int64_t row = 0; row < rows; ++row)
    scales.push_back(weights.row_scale[static_cast<std::size_t>(row / (rows / weights.rows))]);
  return scales;
}

}  // namespace

double WeightMatrix::sparsity() const {
  const double elements = static_cast<double>(rows) * static_cast<double>(columns);
  return elements == 0 ? 0 : 1 - static_cast<double>(stored()) / elements;
}

bool makes_up(std::span<const std::int64_t> shape, std::int64_t rows, std::int64_t columns) {
  for (std::size_t first = 0; first <= shape.size(); ++first) {
    if (element_count(shape.first(first), "the weight") == rows &&
        element_count(shape.subspan(first), "the weight") == columns)
      return true;
  }
  return false;
}

void WeightMatrix::check(CallPlace place) const {
  user_call(place, [&] { check_matrix(*this); });
}

WeightMatrix from_dense(const Array& dense, std::string origin, std::int64_t row_dimensions,
                        CallPlace place) {
  return user_call(place, [&] {
    WeightMatrix result;
    result.shape = dense.shape();
    std::tie(result.rows, result.columns) = matrix_of(dense.shape(), row_dimensions, origin);
    result.origin = std::move(origin);
    result.row_begin.reserve(static_cast<std::size_t>(result.rows) + 1);
    result.row_begin.push_back(0);
    std::vector<std::int64_t> entries;
    collect_positions(dense, result, entries);
    result.values = Array(dense.dtype(), {result.stored()});
    for (std::size_t i = 0; i < entries.size(); ++i)
      result.values.copy_element(static_cast<std::int64_t>(i), dense, entries[i]);
    return result;
  });
}

WeightMatrix with_row_dimensions(WeightMatrix weights, std::int64_t row_dimensions, CallPlace place) {
  return user_call(place, [&] {
    weights.check();
    const auto [rows, columns] = matrix_of(weights.shape, row_dimensions, weights.origin);
    std::vector<std::int64_t> begin(static_cast<std::size_t>(rows) + 1, 0);
    // Row-major, an element keeps its number.
    for (std::int64_t row = 0; row < weights.rows; ++row) {
      for (const std::int64_t i : weights.entries(row)) {
        std::int32_t& column = weights.column[i];
        const std::int64_t number = row * weights.columns + column;
        ++begin[static_cast<std::size_t>(number / columns) + 1];
        column = static_cast<std::int32_t>(number % columns);
      }
    }
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    if (rows != weights.rows) weights.pruned_for = nullptr;
    weights.row_scale = scales_of(weights, rows);
    weights.rows = rows;
    weights.columns = columns;
    weights.row_begin = std::move(begin);
    return std::move(weights);
  });
}

WeightMatrix from_coordinates(std::int64_t rows, std::int64_t columns, const std::vector<std::int64_t>& row,
                              const std::vector<std::int64_t>& column, const Array& values,
                              std::string origin, CallPlace place) {
  return user_call(place, [&] {
    check_coordinates(rows, columns, row, column, values, origin);
    return sorted_entries(rows, columns, row, column, values, std::move(origin));
  });
}

WeightMatrix chosen_entries(const WeightMatrix& weights, std::vector<std::int64_t> row_begin,
                            std::span<const std::int64_t> entries) {
  WeightMatrix chosen;
  chosen.rows = static_cast<std::int64_t>(row_begin.size()) - 1;
  chosen.columns = weights.columns;
  chosen.shape = weights.shape;
  // With other rows it is a matrix, where more than the first dimension were rows, or none was.
  if (chosen.rows != weights.rows && chosen.shape.size() > 1 && chosen.shape.front() == weights.rows)
    chosen.shape.front() = chosen.rows;
  else if (chosen.rows != weights.rows)
    chosen.shape = {chosen.rows, chosen.columns};
  chosen.pattern_only = weights.pattern_only;
  chosen.origin = weights.origin;
  chosen.row_begin = std::move(row_begin);
  chosen.column.reserve(entries.size());
  chosen.values = Array(weights.values.dtype(), {static_cast<std::int64_t>(entries.size())});
  for (const std::int64_t entry : entries) {
    chosen.values.copy_element(chosen.stored(), weights.values, entry);
    chosen.column.push_back(weights.column[entry]);
  }
  return chosen;
}

Array to_dense(const WeightMatrix& weights, CallPlace place) {
  weights.check(place);
  Array dense(weights.values.dtype(), {weights.rows, weights.columns});
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    for (const std::int64_t i : weights.entries(row))
      dense.copy_element(row * weights.columns + weights.column_of(i), weights.values, i);
  }
  return dense;
}

WeightMatrix converted(const WeightMatrix& weights, DType dtype, double* largest_change) {
  WeightMatrix result = weights;
  result.values = weights.values.converted(dtype);
  if (largest_change == nullptr) return result;
  *largest_change = 0;
  for (std::int64_t i = 0; i < weights.stored(); ++i) {
    // A NaN or an infinity that stays what it is gives NaN here, which no comparison takes.
    const double change = std::abs(result.values.get(i) - weights.values.get(i));
    if (change > *largest_change) *largest_change = change;
  }
  return result;
}

WeightMatrix with_random_values(const WeightMatrix& weights, DType dtype, std::uint64_t seed) {
  WeightMatrix result = weights;
  result.values = Array(dtype, {weights.stored()});
  result.pattern_only = false;
  Random random(seed);
  for (std::int64_t i = 0; i < weights.stored(); ++i) {
    double value = 0;
    do {
      value = is_float(dtype) ? 2 * random.uniform() - 1 : static_cast<double>(1 + random.below(4));
      if (is_signed_integer(dtype) && random.below(2) == 1) value = -value;
      result.values.set(i, value);
      value = result.values.get(i);
    } while (value == 0 || (is_float(dtype) && value >= 1));  // either may come from rounding
  }
  return result;
}

}  // namespace weft
