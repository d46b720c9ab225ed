// Column blocks: the columns cut into blocks, and of each block the rows as in CSR, so that what a block
// multiplies of a dense operand stays near while all rows go through it. Columns count from the first of
// their block and have 16 bits. After Nishtala, Vuduc, Demmel, Yelick, "When cache blocking of sparse matrix
// vector multiply works and why" (AAECC 2007).
#include <weft/dsl/arithmetic.h>
#include <weft/formats/named/common.h>

namespace weft::named {
namespace {

constexpr std::int64_t usual_columns = 128, fewest_columns = 4, widest_block = formats::columns_of_16_bits;

constexpr std::array<FormatParameter, 1> column_block_parameters{
    {{"columns", "a power of two from 4 to 32768", "128", "columns of a block"}}};

SparseTensor pack_column_blocks(const WeightMatrix& weights, const Format& format) {
  check_parameters(format, {"columns"});
  const std::int64_t columns = power_of_two(format, "columns", usual_columns, fewest_columns, widest_block);
  const std::int64_t blocks = ceil_divide(weights.columns, columns);
  check_positions(weights, format, weights.stored(), "entries");
  check_positions(weights, format, blocks * weights.rows, "rows of blocks");
  Array begin_array = index_array(blocks * weights.rows + 1);
  Array column_array(DType::i16, {weights.stored()});
  Array values(weights.values.dtype(), {weights.stored()});
  const auto begin = begin_array.as<std::int32_t>();
  const auto column_of = column_array.as<std::int16_t>();
  std::vector<std::int64_t> next(weights.row_begin.begin(), weights.row_begin.end());
  std::int32_t position = 0;
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t first = block * columns;
    for (std::int64_t row = 0; row < weights.rows; ++row) {
      const auto at = static_cast<std::size_t>(row);
      for (; next[at] < weights.row_begin[at + 1] && weights.column_of(next[at]) < first + columns;
           ++next[at]) {
        column_of[position] = static_cast<std::int16_t>(weights.column_of(next[at]) - first);
        values.copy_element(position++, weights.values, next[at]);
      }
      begin[block * weights.rows + row + 1] = position;
    }
  }
  return packed(
      weights, format,
      {{.dimension = Dimension::column, .extent = blocks, .stride = columns, .loop = "block"},
       {.dimension = Dimension::row, .extent = weights.rows},
       {.kind = LevelKind::compressed, .dimension = Dimension::column, .begin = "begin", .index = "column"}},
      arrays_of({{"begin", std::move(begin_array)},
                 {"column", std::move(column_array)},
                 {"values", std::move(values)}}));
}

}  // namespace

NamedFormat column_blocks() {
  return {
      .name = "column_blocks",
      .summary =
          "blocks of columns (128), of each its rows compressed: offsets by row, 16-bit columns, values",
      .pack = pack_column_blocks,
      .purpose = "Unstructured weights of many columns on a CPU, whose dense operand no first cache holds.",
      .parameters = column_block_parameters};
}

}  // namespace weft::named

weft::Format weft::formats::ColumnBlocks::operator()(std::int64_t columns) const {
  return {"column_blocks", {{"columns", columns}}};
}
