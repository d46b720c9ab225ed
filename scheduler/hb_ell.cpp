#include <weft/scheduler/default_schedule.h>
#include <weft/scheduler/hb_ell.h>
#include <weft/scheduler/hb_ell_swmma.h>
#include <weft/scheduler/recipe_parts.h>
#include <weft/scheduler/simulated_target.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace weft {
namespace {

constexpr std::int64_t rows_of_tile = 16;
constexpr std::int64_t widest_tile = 256, least_columns = 64;
constexpr std::int64_t columns_of_warp = 64;
constexpr std::int64_t usual_stages = 4;
/// Thread blocks that keep all multiprocessors of a large GPU busy, several on each.
constexpr std::int64_t enough_blocks = 4 * 132;

class Tiles {
 public:
  Tiles(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
        ProductLoops loops, const HbEllKnobs& knobs)
      : loops_(std::move(loops)),
        knobs_(knobs),
        extent_(extent_of(algorithm, loops_.columns)),
        schedule_(std::move(algorithm), std::move(weights), target) {}

  Schedule operator()() {
    const std::int64_t columns = columns_of_tile();
    const std::int64_t each = knobs_.warp_n.value_or(std::min(columns, columns_of_warp));
    const LoopName tiles(loops_.columns + ".outer"), inner(loops_.columns + ".inner");
    const LoopName warps(inner.text() + ".outer"), column(inner.text() + ".inner");
    const LoopName block_rows(loops_.rows + ".block"), row(loops_.rows + ".row");
    const std::string reduction = sum_loop(schedule_.algorithm());
    const LoopName blocks(reduction + ".block"), place(reduction + ".place");
    schedule_.split(LoopFactor{LoopName(loops_.columns), columns})
        .split(LoopFactor{inner, each})
        .reorder(tiles, block_rows, blocks, warps, row, column, place)
        .bind(tiles, block_y)
        .bind(block_rows, block_x);
    copy_ahead(blocks);
    schedule_.bind(warps, warp).tensorize(schedule_.target().sm >= 80 ? "mma_m16n8k16" : "mma_m16n8k8");
    share_sums(blocks);
    const Algorithm& algorithm = schedule_.algorithm();
    schedule_.reorder_writeback(algorithm.operands[algorithm.output.operand].name, weft::columns = each);
    return std::move(schedule_);
  }

 private:
  /// Wide tiles read and decode the weights less often; narrow ones make more thread blocks.
  std::int64_t columns_of_tile() const {
    if (knobs_.tile_n) return *knobs_.tile_n;
    if (!extent_.is_static()) return widest_tile;
    const auto all = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(extent_.value)));
    std::int64_t columns = std::clamp(all, least_columns, widest_tile);
    const std::int64_t block_rows = pieces(schedule_.weights()->rows(), rows_of_tile);
    while (columns > least_columns && block_rows * pieces(extent_.value, columns) < enough_blocks)
      columns /= 2;
    return columns;
  }

  void copy_ahead(const LoopName& blocks) {
    const std::string weights = schedule_.algorithm().sparse_operand()->name;
    const std::int64_t stages = knobs_.stages.value_or(schedule_.target().sm >= 80 ? usual_stages : 1);
    if (stages > 1) {
      schedule_.decode(weights, shared, at = blocks, depth = stages)
          .stitch(loops_.dense, shared, at = blocks, depth = stages);
    } else {
      schedule_.decode(weights, shared, at = blocks).stitch(loops_.dense, shared, at = blocks);
    }
  }

  void share_sums(const LoopName& blocks) {
    if (knobs_.groups.value_or(1) <= 1) return;
    schedule_.split_k(blocks, weft::groups = *knobs_.groups, reduce = second_pass)
        .bind(LoopName(blocks.text() + ".group"), block_z);
  }

  ProductLoops loops_;
  HbEllKnobs knobs_;
  Extent extent_;
  Schedule schedule_;
};

/// The other recipe has none of them.
void refuse_knobs(const Algorithm& algorithm, const HbEllKnobs& knobs, const Target& target) {
  const IdleKnobs idle(algorithm.name, target.name);
  for (const auto& [value, name] : {std::pair(knobs.tile_n, "tile_n"), std::pair(knobs.warp_n, "warp_n"),
                                    std::pair(knobs.stages, "stages"), std::pair(knobs.groups, "groups")})
    idle.refuse(value.value_or(0), name, "none, or a target that there is");
}

bool has_blocks_of_16(const SparseTensor& weights) {
  return weights.format().name == "hb_ell" && weights.levels().back().extent == rows_of_tile;
}

}  // namespace

Schedule hb_ell(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                const HbEllKnobs& knobs) {
  const ProductLoops loops = product_loops(algorithm);
  const bool halves = weights->dtype() == DType::f16 || (weights->dtype() == DType::bf16 && target.sm >= 80);
  const bool fits = target.is_gpu() && !loops.rows.empty() && halves && has_blocks_of_16(*weights) &&
                    !algorithm.takes_any_weights();
  if (!fits) return default_schedule(std::move(algorithm), std::move(weights), target);
  if (is_simulated_only(target)) {
    refuse_knobs(algorithm, knobs, target);
    return hb_ell_swmma(std::move(algorithm), std::move(weights), target);
  }
  return Tiles(std::move(algorithm), std::move(weights), target, loops, knobs)();
}

}  // namespace weft
