#include <fmt/format.h>
#include <weft/scheduler/hardware/simulated_target.h>
#include <weft/scheduler/recipes/blocks/choices.h>
#include <weft/scheduler/recipes/blocks/hb_ell.h>
#include <weft/scheduler/recipes/blocks/hb_ell_swmma.h>
#include <weft/scheduler/recipes/blocks/shape.h>
#include <weft/scheduler/recipes/grouped/v_n_m.h>
#include <weft/scheduler/recipes/parts/ordered.h>
#include <weft/scheduler/recipes/parts/product.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace weft {
namespace {

using namespace block_tiles;

constexpr std::int64_t widest_tile = 256;
constexpr std::int64_t columns_of_warp = 64;
constexpr std::int64_t usual_stages = 3;
/// Thread blocks that keep all multiprocessors of a large GPU busy.
constexpr std::int64_t processors = measured_device.multiprocessors, blocks_of_processor = 4;
/// Tiles of several block rows, the larger first: block rows, and columns.
constexpr std::pair<std::int64_t, std::int64_t> shared_tiles[] = {
    {8, 256}, {4, 128}, {4, 64}, {2, 64}, {1, 64}};
constexpr std::int64_t blocks_at_a_time = 2;

/// A tile of several blocks, and how warps share it.
struct SharedTile {
  std::int64_t rows, columns, depth, rows_of_warp, columns_of_warp, stages;
};
/// For targets with wgmma, as measured on an H200 (docs/measurements.md): of a warpgroup, of warps, of few
/// rows.
constexpr SharedTile of_warpgroup{64, 256, 64, 64, 256, 2}, of_warps{64, 128, 64, 32, 32, 3},
    of_few_rows{16, 128, 64, 16, 32, 3};
/// Thread blocks that share a sum are wanted up to that many in all, each with so many iterations.
constexpr std::int64_t shared_blocks = 256, single_row_blocks = 512, least_iterations = 3, most_groups = 4;

/// Block rows that are stored together; 0: empty blocks are not stored.
std::int64_t stored_together(const SparseTensor& weights) {
  return parameter_of(weights.format(), "every");
}

Tile<std::int64_t> tile_of(const HbEllKnobs& numbers, const Target& target) {
  return {*numbers.tile_m,
          *numbers.tile_n,
          *numbers.tile_k,
          *numbers.warp_m,
          *numbers.warp_n,
          *numbers.stages,
          target.has(Capability::warpgroup_tensor_cores)};
}

/// A number for each knob; those that are given, where they are.
class Numbers {
 public:
  Numbers(const Algorithm& algorithm, const SparseTensor& weights, const Target& target,
          const HbEllKnobs& knobs)
      : algorithm_(algorithm),
        weights_(weights),
        target_(target),
        knobs_(knobs),
        every_(stored_together(weights)),
        extent_(extent_of(algorithm, product_loops(algorithm).columns)) {}

  HbEllKnobs operator()() && {
    columns_ = knobs_.tile_n.value_or(widest_tile);
    rows_ = knobs_.tile_m.value_or(block);
    depth_ = knobs_.tile_k.value_or(block * std::min(std::max<std::int64_t>(1, every_), blocks_at_a_time));
    stages_ = knobs_.stages.value_or(target_.has(Capability::asynchronous_copies) ? usual_stages : 1);
    if (every_ == 0) refuse_idle_knobs();
    if (may_take_measured_tile()) return of_tile(measured_tile());
    if (every_ > 0) {
      choose_shared_tile();
    } else if (!knobs_.tile_n && extent_.is_static()) {
      columns_ = most_columns();
      while (columns_ > least_columns && thread_blocks() < processors * blocks_of_processor) columns_ /= 2;
    }
    const HbEllKnobs chosen =
        numbers(knobs_.warp_m.value_or(block), knobs_.warp_n.value_or(std::min(columns_, columns_beside())),
                knobs_.groups.value_or(groups_wanted()));
    refuse_what_does_not_fit(chosen);
    return chosen;
  }

 private:
  HbEllKnobs numbers(std::int64_t warp_m, std::int64_t warp_n, std::int64_t groups) const {
    return {.tile_m = rows_,
            .tile_n = columns_,
            .tile_k = depth_,
            .warp_m = warp_m,
            .warp_n = warp_n,
            .stages = stages_,
            .groups = groups};
  }

  /// Tiles of more block rows than are stored together, and warps that would compute beside their tile.
  void refuse_what_does_not_fit(const HbEllKnobs& chosen) const {
    const std::string& name = algorithm_.name;
    const std::int64_t most = block * std::max<std::int64_t>(1, every_);
    if (rows_ > most || depth_ > most)
      throw UserError("a tile has blocks that are stored together", name,
                      fmt::format("tile_m = {}, tile_k = {}", rows_, depth_),
                      fmt::format("at most {}, which hb_ell:every=N makes 16 N", most));
    if (rows_ % *chosen.warp_m != 0 || *chosen.warp_n > columns_)
      throw UserError("a warp is no part of its tile", name,
                      fmt::format("warp_m = {}, warp_n = {} in tile_m = {}, tile_n = {}", *chosen.warp_m,
                                  *chosen.warp_n, rows_, columns_),
                      fmt::format("warp_m = {}, warp_n = {}, or parts of them, or larger tiles",
                                  std::gcd(*chosen.warp_m, rows_), std::min(*chosen.warp_n, columns_)));
  }

  /// Where nothing is said about tiles, and they hold whole blocks.
  bool may_take_measured_tile() const {
    const bool said = knobs_.tile_m || knobs_.tile_n || knobs_.tile_k || knobs_.warp_m || knobs_.warp_n;
    return !said && target_.has(Capability::warpgroup_tensor_cores) &&
           every_ % (places_of_line / block) == 0 && every_ > 0 && extent_.is_static();
  }

  /// A warpgroup's tile where there is one for most multiprocessors; smaller ones, in groups that share a
  /// sum, where there is not; and tiles of few rows where that would take too many groups.
  SharedTile measured_tile() const {
    if (4 * blocks_of(of_warpgroup) >= 3 * processors) return of_warpgroup;
    const std::int64_t groups = ceil_divide(shared_blocks, blocks_of(of_warps));
    return groups <= most_groups && iterations(of_warps.depth) >= groups * least_iterations ? of_warps
                                                                                            : of_few_rows;
  }

  HbEllKnobs of_tile(const SharedTile& tile) {
    rows_ = tile.rows;
    columns_ = std::min(tile.columns, most_columns());
    depth_ = tile.depth;
    stages_ = knobs_.stages.value_or(tile.stages);
    // A warpgroup's tile has so many sums that two passes over them take longer than they save.
    const bool is_of_warpgroup = tile.rows_of_warp == rows_of_warpgroup;
    return numbers(tile.rows_of_warp, std::min(tile.columns_of_warp, columns_),
                   knobs_.groups.value_or(is_of_warpgroup ? 1 : groups_wanted()));
  }

  std::int64_t blocks_of(const SharedTile& tile) const {
    return ceil_divide(weights_.rows(), tile.rows) * ceil_divide(extent_.value, tile.columns);
  }

  /// How often a tile goes through its loop: the blocks of a block row, in the mean, some at a time.
  std::int64_t iterations(std::int64_t depth) const {
    if (every_ > 0) return ceil_divide(weights_.columns(), depth);
    return weights_.array("bcidx").size() / std::max<std::int64_t>(1, ceil_divide(weights_.rows(), block));
  }

  /// Thread blocks that share a sum, where there are few of them otherwise.
  std::int64_t groups_wanted() const {
    if (!extent_.is_static() || thread_blocks() == 0) return 1;
    const std::int64_t wanted = (every_ > 0 ? shared_blocks : single_row_blocks) / thread_blocks();
    return std::clamp<std::int64_t>(iterations(depth_) / least_iterations, 1,
                                    std::max<std::int64_t>(1, wanted));
  }

  /// That a warp sums, at most.
  std::int64_t columns_beside() const {
    return every_ > 0 ? std::max<std::int64_t>(32, rows_) : columns_of_warp;
  }

  /// A tile has at most so many: as many as there are, up to a power of two.
  std::int64_t most_columns() const {
    if (!extent_.is_static()) return widest_tile;
    const auto all = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(extent_.value)));
    return std::clamp(all, least_columns, widest_tile);
  }

  void refuse_idle_knobs() const {
    const IdleKnobs idle(algorithm_.name, weights_.format().text());
    idle.refuse(knobs_.tile_m.value_or(0), "tile_m", "weights that store every block: hb_ell:every=8");
    idle.refuse(knobs_.warp_m.value_or(0), "warp_m", "weights that store every block: hb_ell:every=8");
    idle.refuse(knobs_.tile_k.value_or(0), "tile_k", "weights that store every block: hb_ell:every=8");
  }

  /// With lines of the result. Blocks are counted as dense ones with offsets: none takes more.
  std::int64_t shared_bytes() const {
    const std::int64_t line = std::min(columns_beside(), longest_line) + gap;
    const std::int64_t lines = ceil_divide(columns_, columns_beside()) * line;
    return tile_of(numbers(rows_, columns_, 1), target_).bytes(rows_ * depth_ * (bytes_of_element + 1)) +
           rows_ * lines * bytes_of_element;
  }

  /// The largest that has room, and gives every multiprocessor one.
  void choose_shared_tile() {
    for (const auto& [block_rows, columns] : shared_tiles) {
      if (block_rows > every_) continue;
      rows_ = knobs_.tile_m.value_or(block_rows * block);
      columns_ = knobs_.tile_n.value_or(columns);
      if (!knobs_.tile_n && columns > most_columns()) continue;
      if (shared_bytes() > target_.shared_bytes_per_block) continue;
      if (!extent_.is_static() || thread_blocks() >= processors) return;
    }
  }

  std::int64_t thread_blocks() const {
    return ceil_divide(weights_.rows(), rows_) * ceil_divide(extent_.value, columns_);
  }

  const Algorithm& algorithm_;
  const SparseTensor& weights_;
  const Target& target_;
  const HbEllKnobs& knobs_;
  std::int64_t every_;
  Extent extent_;
  std::int64_t rows_ = block, columns_ = widest_tile, depth_ = block, stages_ = usual_stages;
};

/// The steps of numbers that are chosen.
class Blocks {
 public:
  Blocks(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
         const HbEllKnobs& numbers)
      : loops_(product_loops(algorithm)),
        tile_(tile_of(numbers, target)),
        groups_(*numbers.groups),
        every_(stored_together(*weights)),
        schedule_(ordered_schedule(std::move(algorithm), std::move(weights), target)) {}

  Schedule operator()() {
    const WeightLoops of_weights = weight_loops(schedule_);
    const LoopName &all_rows = of_weights.rows.at(0), &row = of_weights.rows.at(1);
    const LoopName &all_blocks = of_weights.sum.at(0), &place = of_weights.sum.at(1);
    const auto [tiles, of_tile] = schedule_.split(loops_.columns, tile_.columns);
    const auto [warps, column] = schedule_.split(of_tile, tile_.columns_each);
    if (every_ == 0) {
      schedule_.reorder(tiles, all_rows, all_blocks, warps, row, column, place)
          .bind(tiles, block_y)
          .bind(all_rows, block_x)
          .bind(warps, warp);
      copy_ahead(all_blocks);
      return finished(all_blocks);
    }
    const auto [of_rows, of_blocks] =
        schedule_.split(all_rows, tile_.rows / block, all_blocks, tile_.places / block);
    const auto& [block_rows, rows_of_tile] = of_rows;
    const auto& [blocks, beside] = of_blocks;
    const auto [row_warps, below] = schedule_.split(rows_of_tile, tile_.rows_each / block);
    schedule_.reorder(tiles, block_rows, blocks, row_warps, warps, below, row, column, beside, place)
        .bind(tiles, block_y)
        .bind(block_rows, block_x)
        .bind(row_warps, warp)
        .bind(warps, warp);
    copy_ahead(blocks, {{beside, place}, {below, row}});
    return finished(blocks);
  }

 private:
  std::string instruction() const {
    if (tile_.by_warpgroups()) return fmt::format("wgmma_m64n{}k16", tile_.columns_each);
    return schedule_.target().has(Capability::mma_m16n8k16) ? "mma_m16n8k16" : "mma_m16n8k8";
  }

  /// Warpgroups have 128 threads.
  std::int64_t threads_of_row() const {
    const std::int64_t threads = warps_of_warpgroup * lanes_of_warp * (tile_.rows / tile_.rows_each) *
                                 ceil_divide(tile_.columns, tile_.columns_each);
    return std::clamp<std::int64_t>(threads / tile_.rows, 1, 8);
  }

  /// `together`: loops over blocks beside and below each other, with those inside of a block that they join
  /// once the values are decoded.
  void copy_ahead(const LoopName& blocks, const std::vector<std::vector<LoopName>>& together = {}) {
    const std::string weights = schedule_.algorithm().sparse_operand()->name;
    const auto copy = [&](const auto&... buffers) {
      if (tile_.by_warpgroups())
        schedule_.decode(weights, shared, at = blocks, buffers..., parts = threads_of_row());
      else
        schedule_.decode(weights, shared, at = blocks, buffers...);
      for (const std::vector<LoopName>& loops : together) schedule_.fuse(loops);
      schedule_.stitch(loops_.dense, shared, at = blocks, buffers...);
    };
    // One buffer is what these steps take when nothing is said.
    tile_.stages > 1 ? copy(depth = tile_.stages) : copy();
  }

  Schedule finished(const LoopName& blocks) {
    schedule_.tensorize(instruction());
    if (groups_ > 1) schedule_.bind(schedule_.split_k(blocks, groups_, second_pass), block_z);
    const Algorithm& algorithm = schedule_.algorithm();
    // Lines are a power of two long; that of 48 columns are three of 16.
    const std::int64_t line = std::min(tile_.columns_each & -tile_.columns_each, longest_line);
    schedule_.reorder_writeback(algorithm.operands[algorithm.output.operand].name, weft::columns = line);
    return std::move(schedule_);
  }

  ProductLoops loops_;
  Tile<std::int64_t> tile_;
  std::int64_t groups_, every_;
  Schedule schedule_;
};

/// The other recipe has none of them.
void refuse_knobs(const Algorithm& algorithm, const HbEllKnobs& knobs, const Target& target) {
  const IdleKnobs idle(algorithm.name, target.name);
  for (const auto& [value, name] : {std::pair(knobs.tile_n, "tile_n"), std::pair(knobs.warp_n, "warp_n"),
                                    std::pair(knobs.stages, "stages"), std::pair(knobs.groups, "groups")})
    idle.refuse(value.value_or(0), name, "none, or a target that there is");
}

bool has_blocks_of_16(const Format& format) {
  return format.name == "hb_ell" && parameter_of(format, "b", block) == block;
}

}  // namespace

std::optional<KnobValues> hb_ell_point(const Algorithm& algorithm,
                                       std::shared_ptr<const SparseTensor> weights, const Target& target) {
  KnobValues point = values_of(hb_ell_knobs(), Numbers(algorithm, *weights, target, {})());
  // A tile is a block.
  if (stored_together(*weights) == 0) point["tile_m"] = point["tile_k"] = point["warp_m"] = 0;
  return point;
}

namespace {

Schedule schedule_with(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                       const HbEllKnobs& knobs) {
  const RecipeNeeds needs{"hb_ell", "hb_ell with blocks of 16", "formats::hb_ell()"};
  const std::string given = require_in_range("hb_ell", hb_ell_knobs(), knobs);
  require_format(needs, algorithm, weights.get(), has_blocks_of_16);
  if (formats::keeps_two_of_four(weights->format())) {
    return v_n_m(std::move(algorithm), std::move(weights), target,
                 {.tile_m = knobs.tile_m,
                  .tile_n = knobs.tile_n,
                  .tile_k = knobs.tile_k,
                  .stages = knobs.stages,
                  .warp_m = knobs.warp_m,
                  .warp_n = knobs.warp_n,
                  .groups = knobs.groups});
  }
  const ProductLoops loops = product_loops(algorithm);
  require_halves(needs, algorithm, *weights);
  if (loops.rows.empty() || algorithm.takes_any_weights())
    refuse_recipe(needs, algorithm, "an algorithm of another form, or for weights of any size",
                  "a product C[m, n] = sum of A[m, k] B[k, n] of weights of known size, for weights in "
                  "hb_ell:pairs=1 a convolution too; else default_schedule(algorithm, weights, target)");
  if (!has_tensor_cores_for(target, weights->dtype()))
    return left_to_default(needs, std::move(algorithm), std::move(weights), target, given);
  if (is_simulated_only(target)) {
    refuse_knobs(algorithm, knobs, target);
    return hb_ell_swmma(std::move(algorithm), std::move(weights), target);
  }
  return with_recipe_named(needs.name, given, [&] {
    const HbEllKnobs numbers = Numbers(algorithm, *weights, target, knobs)();
    return Blocks(std::move(algorithm), std::move(weights), target, numbers)();
  });
}

}  // namespace

Schedule hb_ell(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                const HbEllKnobs& knobs, CallPlace place) {
  return made_with_knobs(place, hb_ell_knobs(), knobs, [&](const HbEllKnobs& each) {
    return schedule_with(algorithm, weights, target, each);
  });
}

}  // namespace weft
