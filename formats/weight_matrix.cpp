#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/formats/random.h>
#include <weft/formats/weight_matrix.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace weft {
namespace {

constexpr std::int64_t largest_extent = std::numeric_limits<std::int32_t>::max();

[[noreturn]] void refuse(const std::string& origin, std::string where, std::string found,
                         std::string accepted) {
  throw UserError(
      {origin.empty() ? "these weights cannot be used" : "the weights of " + origin + " cannot be used",
       std::move(where), std::move(found), std::move(accepted)});
}

void check_extents(std::int64_t rows, std::int64_t columns, const std::string& origin) {
  if (rows < 0 || columns < 0 || rows > largest_extent || columns > largest_extent) {
    refuse(origin, "the shape", fmt::format("{} rows and {} columns", rows, columns),
           fmt::format("0 to {} of each", largest_extent));
  }
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
    case 1:
      return collect_positions<std::uint8_t>(dense, result, place);
    case 2:
      return collect_positions<std::uint16_t>(dense, result, place);
    case 4:
      return collect_positions<std::uint32_t>(dense, result, place);
    default:
      return collect_positions<std::uint64_t>(dense, result, place);
  }
}

/// Adds in the type T itself; false when the sum does not fit.
template <class T>
bool add_exactly(Array& to, std::int64_t to_index, const Array& from, std::int64_t from_index) {
  T& sum = to.as<T>()[static_cast<std::size_t>(to_index)];
  return !__builtin_add_overflow(sum, from.as<T>()[static_cast<std::size_t>(from_index)], &sum);
}

bool add_element(Array& to, std::int64_t to_index, const Array& from, std::int64_t from_index) {
  switch (from.dtype()) {
    case DType::i8:
      return add_exactly<std::int8_t>(to, to_index, from, from_index);
    case DType::u8:
      return add_exactly<std::uint8_t>(to, to_index, from, from_index);
    case DType::i16:
      return add_exactly<std::int16_t>(to, to_index, from, from_index);
    case DType::u16:
      return add_exactly<std::uint16_t>(to, to_index, from, from_index);
    case DType::i32:
      return add_exactly<std::int32_t>(to, to_index, from, from_index);
    case DType::u32:
      return add_exactly<std::uint32_t>(to, to_index, from, from_index);
    case DType::i64:
      return add_exactly<std::int64_t>(to, to_index, from, from_index);
    case DType::u64:
      return add_exactly<std::uint64_t>(to, to_index, from, from_index);
    default:
      to.set(to_index, to.get(to_index) + from.get(from_index));
      return true;
  }
}

/// The entries' numbers, ordered by row, then by column; entries at one place keep their order.
std::vector<std::int64_t> order_by_place(std::int64_t rows, const std::vector<std::int64_t>& row,
                                         const std::vector<std::int64_t>& column) {
  std::vector<std::int64_t> next(static_cast<std::size_t>(rows) + 1, 0);
  for (const std::int64_t r : row) ++next[static_cast<std::size_t>(r) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  const std::vector<std::int64_t> begin = next;
  std::vector<std::int64_t> order(row.size());
  for (std::size_t i = 0; i < row.size(); ++i) {
    order[static_cast<std::size_t>(next[static_cast<std::size_t>(row[i])]++)] = static_cast<std::int64_t>(i);
  }
  for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
    std::stable_sort(
        order.begin() + begin[r], order.begin() + begin[r + 1], [&](std::int64_t left, std::int64_t right) {
          return column[static_cast<std::size_t>(left)] < column[static_cast<std::size_t>(right)];
        });
  }
  return order;
}

void check_coordinates(std::int64_t rows, std::int64_t columns, const std::vector<std::int64_t>& row,
                       const std::vector<std::int64_t>& column, const Array& values,
                       const std::string& origin) {
  check_extents(rows, columns, origin);
  if (row.size() != column.size() || static_cast<std::int64_t>(row.size()) != values.size()) {
    refuse(origin, "the coordinates",
           fmt::format("{} rows, {} columns, {} values", row.size(), column.size(), values.size()),
           "as many of each");
  }
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] >= 0 && row[i] < rows && column[i] >= 0 && column[i] < columns) continue;
    refuse(origin, fmt::format("entry {}", i), fmt::format("row {}, column {}", row[i], column[i]),
           fmt::format("a place inside {} rows and {} columns, counted from 0", rows, columns));
  }
}

/// Columns in range and ascending in one row whose offsets have been checked.
void check_row(const WeightMatrix& weights, std::int64_t row) {
  std::int64_t previous = -1;
  const auto begin = static_cast<std::size_t>(weights.row_begin[static_cast<std::size_t>(row)]);
  const auto end = static_cast<std::size_t>(weights.row_begin[static_cast<std::size_t>(row) + 1]);
  for (std::size_t i = begin; i < end; ++i) {
    const std::int64_t column = weights.column[i];
    if (column < 0 || column >= weights.columns) {
      refuse(weights.origin, fmt::format("row {}, entry {}", row, i), fmt::format("column {}", column),
             fmt::format("columns 0 to {}", weights.columns - 1));
    }
    if (column <= previous) {
      refuse(weights.origin, fmt::format("row {}, entry {}", row, i),
             fmt::format("column {} after column {}", column, previous), "ascending columns, none twice");
    }
    previous = column;
  }
}

}  // namespace

double WeightMatrix::sparsity() const {
  const double elements = static_cast<double>(rows) * static_cast<double>(columns);
  return elements == 0 ? 0 : 1 - static_cast<double>(stored()) / elements;
}

void WeightMatrix::check() const {
  check_extents(rows, columns, origin);
  if (element_count(shape, "the weight") != rows * columns) {
    refuse(origin, "the shape",
           fmt::format("{} for {} rows and {} columns", text_of_shape(shape), rows, columns),
           "a shape with as many elements as the matrix");
  }
  if (static_cast<std::int64_t>(row_begin.size()) != rows + 1 || row_begin.front() != 0) {
    refuse(origin, "the row offsets", fmt::format("{} of them for {} rows", row_begin.size(), rows),
           "one more than rows, the first 0");
  }
  if (values.size() != stored()) {
    refuse(origin, "the values", fmt::format("{} values for {} columns", values.size(), stored()),
           "one value for each stored column");
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t begin = row_begin[static_cast<std::size_t>(row)];
    const std::int64_t end = row_begin[static_cast<std::size_t>(row) + 1];
    if (end < begin || end > stored()) {
      refuse(origin, fmt::format("row {}", row), fmt::format("offsets {} to {}", begin, end),
             fmt::format("offsets that do not decrease and end by {}", stored()));
    }
    check_row(*this, row);
  }
  if (row_begin.back() != stored()) {
    refuse(origin, "the last row offset", std::to_string(row_begin.back()),
           fmt::format("{}, the number of entries", stored()));
  }
}

WeightMatrix from_dense(const Array& dense, std::string origin) {
  if (dense.shape().empty()) refuse(origin, "the shape", "a single number", "at least one dimension");
  const std::span<const std::int64_t> shape(dense.shape());
  WeightMatrix result;
  result.shape = dense.shape();
  result.rows = shape.size() == 1 ? 1 : shape.front();
  result.columns = element_count(shape.size() == 1 ? shape : shape.subspan(1), "the weight");
  check_extents(result.rows, result.columns, origin);
  result.origin = std::move(origin);
  result.row_begin.reserve(static_cast<std::size_t>(result.rows) + 1);
  result.row_begin.push_back(0);
  std::vector<std::int64_t> place;
  collect_positions(dense, result, place);
  result.values = Array(dense.dtype(), {result.stored()});
  for (std::size_t i = 0; i < place.size(); ++i) {
    result.values.copy_element(static_cast<std::int64_t>(i), dense, place[i]);
  }
  return result;
}

WeightMatrix from_coordinates(std::int64_t rows, std::int64_t columns, const std::vector<std::int64_t>& row,
                              const std::vector<std::int64_t>& column, const Array& values,
                              std::string origin) {
  check_coordinates(rows, columns, row, column, values, origin);
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

Array to_dense(const WeightMatrix& weights) {
  Array dense(weights.values.dtype(), {weights.rows, weights.columns});
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    const std::int64_t end = weights.row_begin[static_cast<std::size_t>(row) + 1];
    for (std::int64_t i = weights.row_begin[static_cast<std::size_t>(row)]; i < end; ++i) {
      dense.copy_element(row * weights.columns + weights.column[static_cast<std::size_t>(i)], weights.values,
                         i);
    }
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
