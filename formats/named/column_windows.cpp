// Column windows: rows sorted by their length, 16 side by side in a group. A group is gone through in blocks
// of four steps, of which each takes one entry of each row; all entries of a block lie in a window of 32
// columns, so that what they are multiplied with are two registers of 16 elements, out of which one
// instruction picks 16 of them. `base` has the first column of each block's window, `offset` of each place
// the column behind that, or 255 where a row has no entry left in the window. Row numbers that fill up the
// last group are -1.
#include <weft/dsl/arithmetic.h>
#include <weft/formats/named/common.h>

#include <algorithm>
#include <limits>

namespace weft::named {
namespace {

constexpr std::int64_t rows_together = 16, steps_of_block = 4, columns_of_window = 32;
constexpr std::int64_t places_of_block = rows_together * steps_of_block;
constexpr std::uint8_t nothing = 255;

/// The blocks of all groups, each as far as its slowest row lets it go.
class Windows {
 public:
  explicit Windows(const WeightMatrix& weights)
      : weights_(weights),
        order_(row_order(weights, RowOrder::by_length, 1)),
        last_(std::max<std::int64_t>(0, weights.columns - columns_of_window)) {
    order_.resize(static_cast<std::size_t>(groups() * rows_together), -1);
    for (std::int64_t group = 0; group < groups(); ++group) {
      add_blocks(std::span(order_).subspan(static_cast<std::size_t>(group * rows_together), rows_together));
      begin_.push_back(std::ssize(base_));
    }
  }

  std::int64_t groups() const { return ceil_divide(weights_.rows, rows_together); }
  std::int64_t places() const { return std::ssize(entry_); }

  std::vector<SparseTensor::NamedArray> arrays() const {
    Array offset(DType::u8, {places()});
    Array values(weights_.values.dtype(), {places()});
    const auto offset_of = offset.as<std::uint8_t>();
    for (std::int64_t place = 0; place < places(); ++place) {
      const std::int64_t entry = entry_[static_cast<std::size_t>(place)];
      offset_of[place] = nothing;
      if (entry < 0) continue;
      const std::int64_t base = base_[static_cast<std::size_t>(place / places_of_block)];
      offset_of[place] = static_cast<std::uint8_t>(weights_.column_of(entry) - base);
      values.copy_element(place, weights_.values, entry);
    }
    return arrays_of({{"row_order", Array::of(order_)},
                      {"begin", indices_of(begin_)},
                      {"base", indices_of(base_)},
                      {"offset", std::move(offset)},
                      {"values", std::move(values)}});
  }

 private:
  /// Of a row in a group.
  struct Row {
    std::int64_t next = 0, end = 0;  ///< entries
  };

  void add_blocks(std::span<const std::int32_t> numbers) {
    std::array<Row, rows_together> rows;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (numbers[i] < 0) continue;
      const auto entries = weights_.entries(numbers[i]);
      rows[i] = {*entries.begin(), *entries.begin() + weights_.length(numbers[i])};
    }
    constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
    for (;;) {
      std::int64_t first = none;
      for (const Row& row : rows)
        if (row.next < row.end) first = std::min<std::int64_t>(first, weights_.column_of(row.next));
      if (first == none) return;
      base_.push_back(std::min(first, last_));
      add_block(rows, base_.back() + columns_of_window);
    }
  }

  void add_block(std::span<Row> rows, std::int64_t end_of_window) {
    for (std::int64_t step = 0; step < steps_of_block; ++step) {
      for (Row& row : rows) {
        const bool has_one = row.next < row.end && weights_.column_of(row.next) < end_of_window;
        entry_.push_back(has_one ? row.next++ : -1);
      }
    }
  }

  const WeightMatrix& weights_;
  std::vector<std::int32_t> order_;
  std::int64_t last_;                   ///< column that a window may begin at
  std::vector<std::int64_t> begin_{0};  ///< blocks before each group, and all
  std::vector<std::int64_t> base_;
  std::vector<std::int64_t> entry_;  ///< in each place; -1: none
};

SparseTensor pack_column_windows(const WeightMatrix& weights, const Format& format) {
  check_parameters(format, {});
  const Windows windows(weights);
  check_positions(weights, format, windows.places(), "places, each row having four in each block");
  std::vector<Level> levels{
      {.dimension = Dimension::none, .extent = windows.groups(), .loop = "group"},
      {.dimension = Dimension::none, .extent = rows_together, .loop = "row"},
      {.kind = LevelKind::singleton,
       .dimension = Dimension::row,
       .index = "row_order",
       .padded = windows.groups() * rows_together != weights.rows},
      {.kind = LevelKind::compressed,
       .dimension = Dimension::column,
       .extent = columns_of_window,
       .begin = "begin",
       .index = "base",
       .parent = 0,
       .loop = "block"},
      {.dimension = Dimension::none, .extent = steps_of_block, .loop = "step"},
      {.dimension = Dimension::none, .extent = rows_together, .across = 1},
      {.kind = LevelKind::singleton,
       .dimension = Dimension::column,
       .extent = columns_of_window,
       .index = "offset"},
  };
  return packed(weights, format, std::move(levels), windows.arrays());
}

}  // namespace

NamedFormat column_windows() {
  return {
      .name = "column_windows",
      .summary = "16 rows by length side by side, four entries of each at a time in a window of 32 columns",
      .pack = pack_column_windows,
      .purpose =
          "Unstructured weights that a CPU multiplies with one column, which it reads without gathering."};
}

}  // namespace weft::named

weft::Format weft::formats::column_windows() {
  return {"column_windows", {}};
}
