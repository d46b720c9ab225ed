// Blocked ELL: every block row padded to the longest. In the slots left over the block column is -1 and the
// values are +0.
#include <weft/formats/named/blocks.h>

#include <algorithm>

namespace weft::named {
namespace {

SparseTensor pack_blocked_ell(const WeightMatrix& weights, const Format& format) {
  const Blocks blocks(weights, format);
  std::int64_t width = 0;
  for (std::int64_t row = 0; row < blocks.block_rows(); ++row)
    width = std::max(width, std::ssize(blocks.columns(row)));
  const std::int64_t slots = blocks.block_rows() * width;
  check_positions(weights, format, slots * blocks.size() * blocks.size(),
                  "values, every block row being as long as the longest");
  Array column = index_array(slots, -1);
  for (std::int64_t row = 0; row < blocks.block_rows(); ++row)
    std::ranges::copy(blocks.columns(row), column.as<std::int32_t>().begin() + row * width);
  Array values = blocks.values(slots, [&](std::int64_t row) { return row * width; });
  return blocks.packed(format,
                       {{.dimension = Dimension::none, .extent = width, .parent = 0, .loop = "block"},
                        padded_columns(blocks.size())},
                       arrays_of({{"column", std::move(column)}, {"values", std::move(values)}}));
}

}  // namespace

NamedFormat blocked_ell() {
  return {.name = "blocked_ell",
          .summary = "blocks of b x b (16), every block row padded to the longest",
          .pack = pack_blocked_ell,
          .purpose =
              "Weights pruned in square blocks, as many in each block row; what cuSPARSE calls Blocked-ELL.",
          .parameters = block_parameters};
}

}  // namespace weft::named

weft::Format weft::formats::BlockedEll::operator()(std::int64_t size) const {
  return {"blocked_ell", {{"b", size}}};
}
