#include <weft/dsl/arithmetic.h>
#include <weft/formats/named/blocks.h>

#include <algorithm>

namespace weft::named {
namespace {

constexpr std::int64_t smallest = 4;
constexpr std::int64_t largest = 256;
constexpr std::int64_t usual = 16;

}  // namespace

Blocks::Blocks(const WeightMatrix& weights, const Format& format)
    : weights_(weights), size_(power_of_two(format, "b", usual, smallest, largest)) {
  check_parameters(format, {"b"});
  columns_.resize(static_cast<std::size_t>(ceil_divide(weights.rows, size_)));
  std::vector<std::int64_t> last(ceil_divide(weights.columns, size_), -1);
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    const std::int64_t block_row = row / size_;
    for (const std::int64_t i : weights.entries(row)) {
      const std::int64_t column = weights.column_of(i) / size_;
      std::int64_t& before = last[column];
      if (before != block_row) columns_[block_row].push_back(static_cast<std::int32_t>(column));
      before = block_row;
    }
  }
  for (std::vector<std::int32_t>& columns : columns_) std::ranges::sort(columns);
}

SparseTensor Blocks::packed(const Format& format, std::vector<Level> levels,
                            std::vector<SparseTensor::NamedArray> arrays) const {
  levels.insert(levels.begin(),
                {{.dimension = Dimension::row, .extent = block_rows(), .stride = size_, .loop = "block"},
                 {.dimension = Dimension::row, .extent = size_, .loop = "row"}});
  const auto place = static_cast<int>(levels.size());
  levels.push_back({.dimension = Dimension::column, .extent = size_, .loop = "place"});
  return named::packed(weights_, format, std::move(levels), std::move(arrays), {.levels = {2, 1, place}});
}

Array Blocks::values(std::int64_t count, const std::function<std::int64_t(std::int64_t)>& first_of) const {
  Array values(weights_.values.dtype(), {count, size_, size_});
  std::vector<std::int64_t> block_of(ceil_divide(weights_.columns, size_));
  for (std::int64_t row = 0; row < weights_.rows; ++row) {
    if (row % size_ == 0) {
      std::int64_t block = first_of(row / size_);
      for (const std::int32_t column : columns(row / size_)) block_of[column] = block++;
    }
    for (const std::int64_t i : weights_.entries(row)) {
      const std::int64_t column = weights_.column_of(i);
      const std::int64_t block = block_of[column / size_];
      values.copy_element((block * size_ + row % size_) * size_ + column % size_, weights_.values, i);
    }
  }
  return values;
}

}  // namespace weft::named
