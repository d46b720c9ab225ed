// Block CSR: offsets by block row, then the block columns and, whole, the values of its blocks.
#include <weft/formats/named/blocks.h>

#include <algorithm>

namespace weft {
namespace named {

NamedFormat bcsr();

namespace {

SparseTensor pack_bcsr(const WeightMatrix& weights, const Format& format) {
  const Blocks blocks(weights, format);
  std::vector<std::int64_t> first{0};
  for (std::int64_t row = 0; row < blocks.block_rows(); ++row)
    first.push_back(first.back() + std::ssize(blocks.columns(row)));
  check_positions(weights, format, first.back() * blocks.size() * blocks.size(),
                  "values, blocks being whole");
  Array begin = index_array(std::ssize(first));
  Array column = index_array(first.back());
  for (std::size_t row = 0; row + 1 < first.size(); ++row) {
    begin.as<std::int32_t>()[row + 1] = static_cast<std::int32_t>(first[row + 1]);
    std::ranges::copy(blocks.columns(static_cast<std::int64_t>(row)),
                      column.as<std::int32_t>().begin() + first[row]);
  }

  std::vector<Level> levels = blocks.row_levels();
  levels.push_back({.kind = LevelKind::compressed,
                    .dimension = Dimension::column,
                    .stride = blocks.size(),
                    .begin = "begin",
                    .index = "column",
                    .parent = 0,
                    .loop = "block"});
  levels.push_back(blocks.column_level());
  std::vector<SparseTensor::NamedArray> arrays;
  arrays.push_back({"begin", std::move(begin)});
  arrays.push_back({"column", std::move(column)});
  arrays.push_back({"values", blocks.values(first.back(), [&](std::int64_t row) {
                      return first[static_cast<std::size_t>(row)];
                    })});
  return SparseTensor(format, weights.shape, weights.rows, weights.columns, std::move(levels),
                      std::move(arrays), {.levels = {2, 1, 3}});
}

}  // namespace

NamedFormat bcsr() {
  return {.name = "bcsr",
          .summary = "blocks of b x b (16) compressed: offsets by block row, block columns, values",
          .pack = pack_bcsr,
          .purpose = "Weights pruned in square blocks.",
          .parameters = block_parameters};
}

}  // namespace named

Format formats::bcsr(std::int64_t size) {
  return named::with_block_size("bcsr", size);
}

}  // namespace weft
