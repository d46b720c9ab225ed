#include "formats/generated_matrices.h"

#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <utility>

namespace weft {

WeightMatrix random_matrix(std::int64_t rows, std::int64_t columns, double density, std::uint64_t seed,
                           DType dtype) {
  Random random(seed);
  std::vector<std::int64_t> row;
  std::vector<std::int64_t> column;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      if (random.uniform() >= density) continue;
      row.push_back(r);
      column.push_back(c);
    }
  }
  const Array ones(dtype, {static_cast<std::int64_t>(row.size())});
  WeightMatrix weights =
      with_random_values(from_coordinates(rows, columns, row, column, ones, "random"), dtype, seed);
  if (weights.stored() >= 2 && is_float(dtype)) {
    weights.values.set(0, -0.0);
    weights.values.set(1, 0.0);
  }
  return weights;
}

WeightMatrix trained_like(std::int64_t rows, std::int64_t columns, std::uint64_t seed, DType dtype) {
  constexpr std::int64_t kinds = 6;
  Random random(seed);
  const auto sizes = [&](std::int64_t count, double spread) {
    std::vector<double> result(static_cast<std::size_t>(count));
    for (double& size : result) size = std::exp2(spread * random.normal());
    return result;
  };
  const std::vector<double> of_row = sizes(rows, 0.5);
  const std::vector<double> of_kind = sizes(kinds * columns, 1);
  Array dense(dtype, {rows, columns});
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t kind = random.below(kinds);
    for (std::int64_t column = 0; column < columns; ++column) {
      double value = 0;
      while (value == 0) {
        value = of_row[static_cast<std::size_t>(row)] *
                of_kind[static_cast<std::size_t>(kind * columns + column)] * random.normal();
        dense.set(row * columns + column, value);
        value = dense.get(row * columns + column);
      }
    }
  }
  return from_dense(dense, "layer");
}

std::vector<GeneratedMatrix> generated_matrices() {
  std::vector<GeneratedMatrix> result;
  for (const double density : {0.0, 0.02, 0.1, 0.5, 1.0}) {
    for (const auto& [rows, columns] : {std::pair{1, 1}, {1, 9}, {9, 1}, {17, 33}, {64, 147}, {130, 31}}) {
      const int seed = rows * 1000 + columns;
      result.push_back(
          {std::to_string(rows) + " x " + std::to_string(columns) + " at " + std::to_string(density),
           random_matrix(rows, columns, density, static_cast<std::uint64_t>(seed))});
    }
  }
  for (const DType dtype :
       {DType::f16, DType::bf16, DType::f64, DType::i8, DType::u16, DType::i64, DType::boolean}) {
    result.push_back({std::string(name_of(dtype)), random_matrix(13, 21, 0.3, 3, dtype)});
  }
  for (const auto& [rows, columns] : {std::pair{0, 5}, {5, 0}, {0, 0}}) {
    result.push_back(
        {std::to_string(rows) + " x " + std::to_string(columns), random_matrix(rows, columns, 1, 1)});
  }
  const Array ones = Array::of(std::vector<float>{1, 2, 3, 4});
  result.push_back(
      {"one long row", from_coordinates(50, 4, {20, 20, 20, 20}, {0, 1, 2, 3}, ones, "long row")});
  result.push_back(
      {"one long column", from_coordinates(4, 50, {0, 1, 2, 3}, {7, 7, 7, 7}, ones, "long column")});
  result.push_back({"corners", from_coordinates(99, 101, {0, 0, 98, 98}, {0, 100, 0, 100}, ones, "corners")});
  result.push_back({"synthetic", synthetic_layer({.rows = 100, .columns = 300, .sparsity = 0.95})});
  Array filter(DType::f32, {3, 2, 3, 3});
  filter.set(5, 1);
  filter.set(40, 2);
  result.push_back({"filter", from_dense(filter, "filter")});
  result.push_back({"vector", from_dense(Array::of(std::vector<float>{0, 3, 0, 1, 2}), "vector")});
  return result;
}

WeightMatrix fitted(const WeightMatrix& weights, const Format& format) {
  if (format.name != "n_m" && format.name != "v_n_m") return weights;
  const auto parameter = [&](const char* name, std::int64_t otherwise) {
    const auto found = format.parameters.find(name);
    return found == format.parameters.end() ? otherwise : found->second;
  };
  const bool any_columns = format.name == "n_m";  // four of four
  const std::int64_t rows = parameter("V", formats::PairOptions{}.rows);
  const std::int64_t columns = any_columns ? 4 : parameter("M", 8);
  std::vector<std::int64_t> row_begin{0}, entries;
  std::map<std::int64_t, std::set<std::int64_t>> kept;  // columns of each block, of one group
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    if (row % rows == 0) kept.clear();
    std::map<std::int64_t, int> of_row;
    const auto at = static_cast<std::size_t>(row);
    for (std::int64_t entry = weights.row_begin[at]; entry < weights.row_begin[at + 1]; ++entry) {
      const std::int64_t column = weights.column[static_cast<std::size_t>(entry)];
      std::set<std::int64_t>& group = kept[column / columns];
      if (!any_columns && group.size() == 4 && !group.contains(column)) continue;
      if (of_row[column / columns] == 2) continue;
      ++of_row[column / columns];
      group.insert(column);
      entries.push_back(entry);
    }
    row_begin.push_back(static_cast<std::int64_t>(entries.size()));
  }
  return chosen_entries(weights, std::move(row_begin), entries);
}

WeightMatrix where(const WeightMatrix& weights,
                   const std::function<bool(std::int64_t row, std::int64_t column)>& keeps) {
  std::vector<std::int64_t> row_begin{0}, entries;
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    const auto at = static_cast<std::size_t>(row);
    for (std::int64_t entry = weights.row_begin[at]; entry < weights.row_begin[at + 1]; ++entry)
      if (keeps(row, weights.column[static_cast<std::size_t>(entry)])) entries.push_back(entry);
    row_begin.push_back(static_cast<std::int64_t>(entries.size()));
  }
  return chosen_entries(weights, std::move(row_begin), entries);
}

WeightMatrix mixed_of_tiles(std::int64_t rows, std::int64_t columns, std::int64_t of_group, DType dtype) {
  constexpr std::int64_t width = 64;
  WeightMatrix result =
      where(random_matrix(rows, columns, 1, 7, dtype), [&](std::int64_t row, std::int64_t column) {
        const std::int64_t group = row / of_group, kind = (group + column / width) % 5;
        if (group % 4 == 3 || kind == 4) return false;
        if (kind == 2) return column % width >= width / 2;
        return kind == 0 || (row + column) % 4 < 2;
      });
  result.values = random_array(dtype, {result.stored()}, 5, RandomValues::small_integers);
  for (std::int64_t i = 0; i < result.stored(); ++i)
    if (result.values.get(i) == 0) result.values.set(i, 1);
  return result;
}

std::shared_ptr<const SparseTensor> packed(const WeightMatrix& weights, const Format& format) {
  return std::make_shared<const SparseTensor>(pack(weights, format));
}

bool same_bits(const Array& left, const Array& right) {
  return left.dtype() == right.dtype() && left.shape() == right.shape() &&
         (left.bytes() == 0 || std::memcmp(left.data(), right.data(), left.bytes()) == 0);
}

}  // namespace weft
