// 2:4 where the weights have it, and dense elsewhere: of the blocks of k columns that a group of V rows has,
// those are stored as two of four in which every row has at most two entries in each four columns. Of the
// others each half is a block that keeps all of its columns. Either kind has as many values, so that an
// iteration of a kernel takes one block whichever it is. A group lists the blocks that keep all first; those
// without entries are not stored.
#include <fmt/format.h>
#include <weft/dsl/arithmetic.h>
#include <weft/formats/check_layout.h>
#include <weft/formats/kept_slots.h>
#include <weft/formats/mixed_tiles.h>
#include <weft/formats/named/kept_pairs.h>

#include <algorithm>

namespace weft::named {
namespace {

class MixedBlocks {
 public:
  MixedBlocks(const WeightMatrix& weights, const PairShape& shape)
      : weights_(weights), shape_(shape), half_(shape.slots / 2) {
    for (std::int64_t first = 0; first < weights.rows; first += shape.rows) add_group(first);
  }

  std::vector<SlotColumns> columns;        ///< columns of the slots of each group
  std::vector<bool> keeps_first;           ///< whether each block keeps all of its columns
  std::vector<std::int32_t> begin{0};      ///< the first block of each group, and of one behind the last
  std::vector<std::int32_t> middle;        ///< the first one of each group that keeps two of four
  std::vector<std::int32_t> first_halves;  ///< where each block begins, in halves of a block

 private:
  void add_group(std::int64_t first) {
    const std::vector<TileFilling> found = tile_fillings(weights_, first, shape_.rows, shape_.slots);
    SlotColumns slots;
    for (const bool dense : {true, false}) {
      for (std::size_t block = 0; block < found.size(); ++block) {
        const TileFilling& filling = found[block];
        if (!filling.any() || filling.is_dense != dense) continue;
        const auto half = static_cast<std::int32_t>(2 * block);
        if (!dense) add_block(half, false, slots);
        for (const std::int32_t i : {0, 1})
          if (dense && filling.halves[static_cast<std::size_t>(i)]) add_block(half + i, true, slots);
      }
      if (dense) middle.push_back(static_cast<std::int32_t>(keeps_first.size()));
    }
    begin.push_back(static_cast<std::int32_t>(keeps_first.size()));
    columns.push_back(std::move(slots));
  }

  void add_block(std::int32_t half, bool keeps_all, SlotColumns& slots) {
    first_halves.push_back(half);
    keeps_first.push_back(keeps_all);
    const std::int64_t present = keeps_all ? half_ : shape_.slots;
    for (std::int64_t slot = 0; slot < shape_.slots; ++slot) {
      const std::int64_t column = half * half_ + slot;
      slots.push_back(slot < present && column < weights_.columns ? static_cast<std::int32_t>(column) : -1);
    }
  }

  const WeightMatrix& weights_;
  PairShape shape_;
  std::int64_t half_;
};

SparseTensor pack_mixed(const WeightMatrix& given, const Format& format) {
  check_parameters(format, {"V", "k"});
  const WeightMatrix weights = without_zeros(given);
  const PairShape shape = pair_shape(format, usual_rows_of_pairs, weights.values.dtype());
  check_positions(
      weights, format,
      2 * shape.groups_of(weights.rows) * shape.blocks_of(ceil_divide(weights.columns, slots_of_quad)),
      "blocks");
  MixedBlocks blocks(weights, shape);
  std::vector<Level> levels = pair_levels(shape, weights.rows,
                                          {.kind = LevelKind::compressed,
                                           .dimension = Dimension::column,
                                           .stride = shape.slots / 2,
                                           .begin = "begin",
                                           .index = "block",
                                           .parent = 0,
                                           .loop = "block"},
                                          Dimension::column);
  levels.back().begin = "middle";
  return pack_pairs(weights, format, shape, blocks.columns, slots_of_quad, std::move(levels),
                    arrays_of({{"begin", Array::of(blocks.begin)},
                               {"block", Array::of(blocks.first_halves)},
                               {"middle", Array::of(blocks.middle)}}),
                    blocks.keeps_first);
}

/// Codes say of a block what it keeps, and the array "middle" says so of all blocks of a group.
void check_mixed(const SparseTensor& tensor) {
  const auto begin = tensor.array("begin").as<std::int32_t>(),
             middle = tensor.array("middle").as<std::int32_t>();
  const auto words = tensor.array("metadata").as<std::int32_t>();
  const std::size_t blocks = static_cast<std::size_t>(begin.back());
  const std::size_t of_block = blocks == 0 ? 0 : words.size() / blocks;
  for (std::size_t group = 0; group < middle.size(); ++group) {
    if (middle[group] < begin[group] || middle[group] > begin[group + 1])
      refuse_damaged(tensor, fmt::format("middle[{}]", group), std::to_string(middle[group]),
                     fmt::format("{} to {}, the blocks of the group", begin[group], begin[group + 1]));
    for (std::int32_t block = begin[group]; block < begin[group + 1]; ++block) {
      const auto own = words.subspan(static_cast<std::size_t>(block) * of_block, of_block);
      const bool keeps_first = block < middle[group];
      const auto wrong = std::ranges::find_if(
          own, [&](std::int32_t word) { return (word == keeps_first_slots) != keeps_first; });
      if (wrong == own.end()) continue;
      refuse_damaged(tensor, fmt::format("a word of block {} in metadata", block),
                     fmt::format("0x{:X}", *wrong),
                     keeps_first ? "0 in every word of a block before the group's middle"
                                 : "no word of 0 in a block from the group's middle on");
    }
  }
}

}  // namespace

NamedFormat mixed() {
  return {.name = "mixed",
          .summary = "groups of V rows (128), whose blocks of k columns are 2:4 where they can, else dense",
          .pack = pack_mixed,
          .check = check_mixed,
          .purpose = "Weights pruned to 2:4 in some tiles and not at all in others, on sparse tensor cores.",
          .parameters = pair_parameters};
}

}  // namespace weft::named

weft::Format weft::formats::Mixed::operator()(const PairOptions& options) const {
  return named::with_places({"mixed", {{"V", options.rows}}}, options.places);
}
