// Block CSR: offsets by block row, then the block columns and, whole, the values of its blocks.
#include <weft/formats/named/blocks.h>

#include <algorithm>

namespace weft::named {
namespace {

SparseTensor pack_bcsr(const WeightMatrix& weights, const Format& format) {
  const Blocks blocks(weights, format);
  std::vector<std::int64_t> first{0};
  for (std::int64_t row = 0; row < blocks.block_rows(); ++row)
    first.push_back(first.back() + std::ssize(blocks.columns(row)));
  check_positions(weights, format, first.back() * blocks.size() * blocks.size(),
                  "values, blocks being whole");
  Array column = index_array(first.back());
  for (std::int64_t row = 0; row < blocks.block_rows(); ++row)
    std::ranges::copy(blocks.columns(row), column.as<std::int32_t>().begin() + first[row]);
  Array values = blocks.values(first.back(), [&](std::int64_t row) { return first[row]; });
  return blocks.packed(
      format,
      {{.kind = LevelKind::compressed,
        .dimension = Dimension::column,
        .stride = blocks.size(),
        .begin = "begin",
        .index = "column",
        .parent = 0,
        .loop = "block"}},
      arrays_of(
          {{"begin", indices_of(first)}, {"column", std::move(column)}, {"values", std::move(values)}}));
}

}  // namespace

NamedFormat bcsr() {
  return {.name = "bcsr",
          .summary = "blocks of b x b (16) compressed: offsets by block row, block columns, values",
          .pack = pack_bcsr,
          .purpose = "Weights pruned in square blocks.",
          .parameters = block_parameters};
}

}  // namespace weft::named

weft::Format weft::formats::Bcsr::operator()(std::int64_t size) const {
  return {"bcsr", {{"b", size}}};
}
