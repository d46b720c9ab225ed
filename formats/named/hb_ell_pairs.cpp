// HB-ELL for the sparse tensor cores that GPUs have, "hb_ell:pairs=1": the columns of each block of 16 x 16
// are put in an order of the block's own in which every row has at most two entries in each four (see quads).
// A block is as wide as its rows ask for: four fours where it fits two of four, fewer where columns are
// empty, up to eight, because any two columns share one. The fours of a block row are listed block by block,
// and 16 or more of them are stored together, so that what is multiplied at a time may end in the middle of a
// block.
#include <fmt/format.h>
#include <weft/formats/check_layout.h>
#include <weft/formats/kept_slots.h>
#include <weft/formats/named/hb_ell_blocks.h>
#include <weft/formats/named/quads.h>

#include <algorithm>

namespace weft::named {
namespace {

constexpr std::int64_t size = 16;

SlotColumns slots_of_blocks(std::span<GroupColumn> columns) {
  std::ranges::sort(columns, {}, &GroupColumn::number);
  SlotColumns slots;
  for (auto block = columns.begin(); block != columns.end();) {
    const auto end =
        std::find_if(block, columns.end(), [number = block->number / size](const GroupColumn& column) {
          return column.number / size != number;
        });
    const SlotColumns of_block = in_quads({block, end});
    slots.insert(slots.end(), of_block.begin(), of_block.end());
    block = end;
  }
  return slots;
}

}  // namespace

SparseTensor pack_hb_ell_pairs(const WeightMatrix& weights, const Format& format, std::int64_t threads) {
  return pack_quads(weights, format, pair_shape(format, size, weights.values.dtype()), slots_of_blocks,
                    threads);
}

void check_hb_ell_pairs(const SparseTensor& tensor) {
  const Array& column = tensor.array("column");
  for (std::int64_t slot = 0; slot < column.size(); ++slot) {
    const std::int64_t first = column.get_integer(slot / slots_of_quad * slots_of_quad);
    const std::int64_t found = column.get_integer(slot);
    if (found < 0 || (first >= 0 && found / size == first / size)) continue;
    refuse_damaged(tensor, fmt::format("column[{}]", slot), std::to_string(found),
                   first < 0 ? "-1, as in front of it"
                             : fmt::format("{} to {}, the block of the four's first column",
                                           first / size * size, first / size * size + size - 1));
  }
}

}  // namespace weft::named
