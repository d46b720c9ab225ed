// Vectors of V rows: rows that keep the same columns share a list of them, and the V values of a column lie
// beside one another, as multiplications of a vector of the dense operand with all rows of a group read them.
// Rows are grouped as shfl_bw groups them. After Chen et al., "Efficient Tensor Core-Based GPU Kernels for
// Structured Sparsity under Reduced Precision" (SC 2021), column-vector sparse encoding.
#include <weft/dsl/arithmetic.h>
#include <weft/formats/named/common.h>
#include <weft/formats/row_groups.h>

#include <algorithm>

namespace weft::named {
namespace {

constexpr std::int64_t usual_rows = 8, fewest_rows = 4, most_rows = 64;

constexpr std::array<FormatParameter, 2> vector_parameters{{
    {"V", "a power of two from 4 to 64", "8", "rows of a group, which keep the same columns"},
    index_parameter,
}};

/// The columns of each group, one list behind the other, and where each list begins.
struct GroupColumns {
  std::vector<std::int32_t> begin{0}, column;
};

GroupColumns columns_of_groups(const WeightMatrix& weights, const Format& format,
                               std::span<const std::int32_t> order, std::size_t rows) {
  GroupColumns groups;
  std::vector<std::size_t> last(static_cast<std::size_t>(weights.columns), order.size());
  for (std::size_t first = 0; first < order.size(); first += rows) {
    const auto before = static_cast<std::ptrdiff_t>(groups.column.size());
    for (const std::int32_t row : order.subspan(first, rows)) {
      if (row < 0) continue;
      for (const std::int64_t i : weights.entries(row)) {
        std::size_t& group = last[static_cast<std::size_t>(weights.column_of(i))];
        if (group != first) groups.column.push_back(static_cast<std::int32_t>(weights.column_of(i)));
        group = first;
      }
    }
    std::sort(groups.column.begin() + before, groups.column.end());
    check_positions(weights, format, std::ssize(groups.column) * static_cast<std::int64_t>(rows),
                    "values, all rows of a group having its columns");
    groups.begin.push_back(static_cast<std::int32_t>(groups.column.size()));
  }
  return groups;
}

/// The V values of each column of each group.
Array values_of_groups(const WeightMatrix& weights, const GroupColumns& groups,
                       std::span<const std::int32_t> order, std::int64_t rows) {
  Array values(weights.values.dtype(), {std::ssize(groups.column), rows});
  for (std::int64_t place = 0; place < std::ssize(order); ++place) {
    const std::int32_t row = order[static_cast<std::size_t>(place)];
    if (row < 0) continue;
    const auto group = static_cast<std::size_t>(place / rows);
    std::int64_t at = groups.begin[group];
    for (const std::int64_t i : weights.entries(row)) {  // both in ascending order
      while (groups.column[static_cast<std::size_t>(at)] != weights.column_of(i)) ++at;
      values.copy_element(at * rows + place % rows, weights.values, i);
    }
  }
  return values;
}

SparseTensor pack_column_vectors(const WeightMatrix& weights, const Format& format) {
  check_parameters(format, {"V", "index"});
  const std::int64_t rows = power_of_two(format, "V", usual_rows, fewest_rows, most_rows);
  const DType index = column_type(weights, format);
  const std::int64_t count = ceil_divide(weights.rows, rows);
  std::vector<std::int32_t> order = group_rows(weights, rows);
  order.resize(static_cast<std::size_t>(count * rows), -1);
  const GroupColumns groups = columns_of_groups(weights, format, order, static_cast<std::size_t>(rows));
  Array values = values_of_groups(weights, groups, order, rows);
  const Array columns = Array::of(groups.column);
  std::vector<Level> levels{
      {.dimension = Dimension::none, .extent = count, .loop = "block"},
      {.dimension = Dimension::none, .extent = rows, .loop = "row"},
      {.kind = LevelKind::singleton,
       .dimension = Dimension::row,
       .index = "row_order",
       .padded = count * rows != weights.rows},
      {.kind = LevelKind::compressed,
       .dimension = Dimension::column,
       .begin = "begin",
       .index = "column",
       .parent = 0},
  };
  return packed(weights, format, std::move(levels),
                arrays_of({{"row_order", Array::of(order)},
                           {"begin", Array::of(groups.begin)},
                           {"column", columns.converted(index)},
                           {"values", std::move(values)}}),
                {.levels = {3, 1}});
}

}  // namespace

NamedFormat column_vectors() {
  return {.name = "column_vectors",
          .summary = "groups of V rows (8) that keep the same columns, the V values of a column side by side",
          .pack = pack_column_vectors,
          .purpose = "Weights pruned in groups of rows, on a CPU.",
          .parameters = vector_parameters};
}

}  // namespace weft::named

weft::Format weft::formats::ColumnVectors::operator()(std::int64_t rows) const {
  return {"column_vectors", {{"V", rows}}};
}
