#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/simulated_target.h>
#include <weft/scheduler/recipes/blocks/hb_ell.h>
#include <weft/scheduler/recipes/blocks/hb_ell_swmma.h>
#include <weft/scheduler/recipes/grouped/v_n_m.h>
#include <weft/scheduler/recipes/parts/knob.h>
#include <weft/scheduler/recipes/parts/product.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace weft {
namespace {

constexpr std::int64_t block = 16;
constexpr std::int64_t widest_tile = 256, least_columns = 64;
constexpr std::int64_t columns_of_warp = 64;
constexpr std::int64_t rows_of_warpgroup = 64, places_of_line = 64;
constexpr std::int64_t usual_stages = 3;
/// Thread blocks that keep all multiprocessors of a large GPU busy.
constexpr std::int64_t processors = 132, blocks_of_processor = 4;
/// Tiles of several block rows, the larger first: block rows, and columns.
constexpr std::pair<std::int64_t, std::int64_t> shared_tiles[] = {
    {8, 256}, {4, 128}, {4, 64}, {2, 64}, {1, 64}};
constexpr std::int64_t blocks_at_a_time = 2;

/// A tile of several blocks, and how warps share it.
struct SharedTile {
  std::int64_t rows, columns, depth, rows_of_warp, columns_of_warp, stages;
};
/// On sm_90a, as measured on an H200 (docs/measurements.md): of a warpgroup, of warps, of few rows.
constexpr SharedTile of_warpgroup{64, 256, 64, 64, 256, 2}, of_warps{64, 128, 64, 32, 32, 3},
    of_few_rows{16, 128, 64, 16, 32, 3};
/// Thread blocks that share a sum are wanted up to that many in all, each with so many iterations.
constexpr std::int64_t shared_blocks = 256, single_row_blocks = 512, least_iterations = 3, most_groups = 4;

class Tiles {
 public:
  Tiles(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
        ProductLoops loops, const HbEllKnobs& knobs)
      : loops_(std::move(loops)),
        knobs_(knobs),
        extent_(extent_of(algorithm, loops_.columns)),
        schedule_(std::move(algorithm), std::move(weights), target) {
    const auto& parameters = schedule_.weights()->format().parameters;
    if (const auto every = parameters.find("every"); every != parameters.end()) every_ = every->second;
    choose();
  }

  Schedule operator()() {
    const LoopName tiles(loops_.columns + ".outer"), inner(loops_.columns + ".inner");
    const LoopName warps(inner.text() + ".outer"), column(inner.text() + ".inner");
    const LoopName all_rows(loops_.rows + ".block"), row(loops_.rows + ".row");
    const LoopName all_blocks(loops_.sum + ".block"), place(loops_.sum + ".place");
    schedule_.split(LoopFactor{LoopName(loops_.columns), columns_})
        .split(LoopFactor{inner, columns_of_warp_});
    if (every_ == 0) {
      schedule_.reorder(tiles, all_rows, all_blocks, warps, row, column, place)
          .bind(tiles, block_y)
          .bind(all_rows, block_x)
          .bind(warps, warp);
      copy_ahead(all_blocks);
      return finished(all_blocks);
    }
    const LoopName block_rows(all_rows.text() + ".outer"), rows_of_tile(all_rows.text() + ".inner");
    const LoopName row_warps(rows_of_tile.text() + ".outer"), below(rows_of_tile.text() + ".inner");
    const LoopName blocks(all_blocks.text() + ".outer"), beside(all_blocks.text() + ".inner");
    schedule_.split(LoopFactor{all_rows, rows_ / block}, LoopFactor{all_blocks, depth_ / block})
        .split(LoopFactor{rows_of_tile, rows_of_warp_ / block})
        .reorder(tiles, block_rows, blocks, row_warps, warps, below, row, column, beside, place)
        .bind(tiles, block_y)
        .bind(block_rows, block_x)
        .bind(row_warps, warp)
        .bind(warps, warp);
    copy_ahead(blocks, &beside, &below);
    return finished(blocks);
  }

 private:
  void choose() {
    columns_ = knobs_.tile_n.value_or(widest_tile);
    rows_ = knobs_.tile_m.value_or(block);
    depth_ = knobs_.tile_k.value_or(block * std::min(std::max<std::int64_t>(1, every_), blocks_at_a_time));
    stages_ = knobs_.stages.value_or(schedule_.target().sm >= 80 ? usual_stages : 1);
    if (every_ == 0) refuse_idle_knobs();
    if (may_take_measured_tile()) return take(measured_tile());
    if (every_ > 0) {
      choose_shared_tile();
    } else if (!knobs_.tile_n && extent_.is_static()) {
      columns_ = most_columns();
      while (columns_ > least_columns && thread_blocks() < processors * blocks_of_processor) columns_ /= 2;
    }
    rows_of_warp_ = knobs_.warp_m.value_or(block);
    columns_of_warp_ = knobs_.warp_n.value_or(std::min(columns_, columns_beside()));
    groups_ = knobs_.groups.value_or(groups_wanted());
    refuse_what_does_not_fit();
  }

  /// Tiles of more block rows than are stored together, and warps that would compute beside their tile.
  void refuse_what_does_not_fit() const {
    const std::string& name = schedule_.algorithm().name;
    const std::int64_t most = block * std::max<std::int64_t>(1, every_);
    if (rows_ > most || depth_ > most)
      throw UserError({"a tile has blocks that are stored together", name,
                       fmt::format("tile_m = {}, tile_k = {}", rows_, depth_),
                       fmt::format("at most {}, which hb_ell:every=N makes 16 N", most)});
    if (rows_ % rows_of_warp_ != 0 || columns_of_warp_ > columns_)
      throw UserError({"a warp is no part of its tile", name,
                       fmt::format("warp_m = {}, warp_n = {} in tile_m = {}, tile_n = {}", rows_of_warp_,
                                   columns_of_warp_, rows_, columns_),
                       fmt::format("warp_m = {}, warp_n = {}, or parts of them, or larger tiles",
                                   std::gcd(rows_of_warp_, rows_), std::min(columns_of_warp_, columns_))});
  }

  /// Where nothing is said about tiles, and they hold whole blocks.
  bool may_take_measured_tile() const {
    const bool said = knobs_.tile_m || knobs_.tile_n || knobs_.tile_k || knobs_.warp_m || knobs_.warp_n;
    return !said && schedule_.target().name == "sm_90a" && every_ % (places_of_line / block) == 0 &&
           every_ > 0 && extent_.is_static();
  }

  /// A warpgroup's tile where there is one for most multiprocessors; smaller ones, in groups that share a
  /// sum, where there is not; and tiles of few rows where that would take too many groups.
  SharedTile measured_tile() const {
    if (4 * blocks_of(of_warpgroup) >= 3 * processors) return of_warpgroup;
    const std::int64_t groups = ceil_divide(shared_blocks, blocks_of(of_warps));
    return groups <= most_groups && iterations(of_warps.depth) >= groups * least_iterations ? of_warps
                                                                                            : of_few_rows;
  }

  void take(const SharedTile& tile) {
    rows_ = tile.rows;
    columns_ = std::min(tile.columns, most_columns());
    depth_ = tile.depth;
    rows_of_warp_ = tile.rows_of_warp;
    columns_of_warp_ = std::min(tile.columns_of_warp, columns_);
    stages_ = knobs_.stages.value_or(tile.stages);
    // A warpgroup's tile has so many sums that two passes over them take longer than they save.
    groups_ = knobs_.groups.value_or(tile.rows_of_warp == rows_of_warpgroup ? 1 : groups_wanted());
  }

  std::int64_t blocks_of(const SharedTile& tile) const {
    return ceil_divide(schedule_.weights()->rows(), tile.rows) * ceil_divide(extent_.value, tile.columns);
  }

  /// How often a tile goes through its loop: the blocks of a block row, in the mean, some at a time.
  std::int64_t iterations(std::int64_t depth) const {
    if (every_ > 0) return ceil_divide(schedule_.weights()->columns(), depth);
    return schedule_.weights()->array("bcidx").size() /
           std::max<std::int64_t>(1, ceil_divide(schedule_.weights()->rows(), block));
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
    const IdleKnobs idle(schedule_.algorithm().name, schedule_.weights()->format().text());
    idle.refuse(knobs_.tile_m.value_or(0), "tile_m", "weights that store every block: hb_ell:every=8");
    idle.refuse(knobs_.warp_m.value_or(0), "warp_m", "weights that store every block: hb_ell:every=8");
    idle.refuse(knobs_.tile_k.value_or(0), "tile_k", "weights that store every block: hb_ell:every=8");
  }

  /// wgmma reads decoded tiles of lines of 128 bytes.
  bool has_warpgroups() const {
    return schedule_.target().name == "sm_90a" && rows_of_warp_ == rows_of_warpgroup &&
           depth_ == places_of_line && columns_of_warp_ >= 64 && stages_ > 1;
  }

  std::string instruction() const {
    if (has_warpgroups()) return fmt::format("wgmma_m64n{}k16", columns_of_warp_);
    return schedule_.target().sm >= 80 ? "mma_m16n8k16" : "mma_m16n8k8";
  }

  /// Warpgroups have 128 threads.
  std::int64_t threads_of_row() const {
    const std::int64_t threads = 128 * (rows_ / rows_of_warp_) * ceil_divide(columns_, columns_of_warp_);
    return std::clamp<std::int64_t>(threads / rows_, 1, 8);
  }

  /// Rows of B, blocks as they are stored and as they are multiplied, and lines of the result. Blocks are
  /// counted as dense ones with offsets: none takes more.
  std::int64_t shared_bytes() const {
    constexpr std::int64_t element = 2;
    const std::int64_t line = std::min(columns_beside(), columns_of_warp) + 8;
    const std::int64_t lines = ceil_divide(columns_, columns_beside()) * line;
    return stages_ * depth_ * (columns_ * element + rows_ * (element + 1)) +
           rows_ * (depth_ + lines) * element;
  }

  /// The largest that has room, and gives every multiprocessor one.
  void choose_shared_tile() {
    for (const auto& [block_rows, columns] : shared_tiles) {
      if (block_rows > every_) continue;
      rows_ = knobs_.tile_m.value_or(block_rows * block);
      columns_ = knobs_.tile_n.value_or(columns);
      if (!knobs_.tile_n && columns > most_columns()) continue;
      if (shared_bytes() > schedule_.target().shared_bytes_per_block) continue;
      if (!extent_.is_static() || thread_blocks() >= processors) return;
    }
  }

  std::int64_t thread_blocks() const {
    return ceil_divide(schedule_.weights()->rows(), rows_) * ceil_divide(extent_.value, columns_);
  }

  /// `beside`: the loop over several blocks of a block row.
  void copy_ahead(const LoopName& blocks, const LoopName* beside = nullptr, const LoopName* below = nullptr) {
    const std::string weights = schedule_.algorithm().sparse_operand()->name;
    const auto copy = [&](const auto&... buffers) {
      if (has_warpgroups())
        schedule_.decode(weights, shared, at = blocks, buffers..., parts = threads_of_row());
      else
        schedule_.decode(weights, shared, at = blocks, buffers...);
      if (beside != nullptr) schedule_.fuse(*beside, LoopName(loops_.sum + ".place"));
      if (below != nullptr) schedule_.fuse(*below, LoopName(loops_.rows + ".row"));
      schedule_.stitch(loops_.dense, shared, at = blocks, buffers...);
    };
    // One buffer is what these steps take when nothing is said.
    stages_ > 1 ? copy(depth = stages_) : copy();
  }

  Schedule finished(const LoopName& blocks) {
    schedule_.tensorize(instruction());
    if (groups_ > 1) schedule_.bind(schedule_.split_k(blocks, groups_, second_pass), block_z);
    const Algorithm& algorithm = schedule_.algorithm();
    const std::int64_t line = std::min(columns_of_warp_, columns_of_warp);
    schedule_.reorder_writeback(algorithm.operands[algorithm.output.operand].name, weft::columns = line);
    return std::move(schedule_);
  }

  ProductLoops loops_;
  HbEllKnobs knobs_;
  Extent extent_;
  Schedule schedule_;
  std::int64_t every_ = 0;  ///< 0: empty blocks are not stored
  std::int64_t rows_ = block, columns_ = widest_tile, depth_ = block, columns_of_warp_ = columns_of_warp,
               rows_of_warp_ = block, stages_ = usual_stages, groups_ = 1;
};

/// The other recipe has none of them.
void refuse_knobs(const Algorithm& algorithm, const HbEllKnobs& knobs, const Target& target) {
  const IdleKnobs idle(algorithm.name, target.name);
  for (const auto& [value, name] : {std::pair(knobs.tile_n, "tile_n"), std::pair(knobs.warp_n, "warp_n"),
                                    std::pair(knobs.stages, "stages"), std::pair(knobs.groups, "groups")})
    idle.refuse(value.value_or(0), name, "none, or a target that there is");
}

bool has_blocks_of_16(const Format& format) {
  const auto size = format.parameters.find("b");
  return format.name == "hb_ell" && (size == format.parameters.end() || size->second == block);
}

}  // namespace

Schedule hb_ell(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                const HbEllKnobs& knobs, std::source_location place) {
  return user_call(place, [&] {
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
    if (!target.is_gpu() || (weights->dtype() == DType::bf16 && target.sm < 80))
      return left_to_default(needs, std::move(algorithm), std::move(weights), target, given);
    if (is_simulated_only(target)) {
      refuse_knobs(algorithm, knobs, target);
      return hb_ell_swmma(std::move(algorithm), std::move(weights), target);
    }
    return with_recipe_named(needs.name, given, [&] {
      return Tiles(std::move(algorithm), std::move(weights), target, loops, knobs)();
    });
  });
}

}  // namespace weft
