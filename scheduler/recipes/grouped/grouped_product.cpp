#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/formats/kept_slots.h>
#include <weft/scheduler/recipes/grouped/grouped_product.h>
#include <weft/scheduler/recipes/parts/product.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>
#include <utility>

namespace weft {
namespace {

constexpr std::int64_t rows_of_warpgroup = 64, rows_of_warp = 16;
constexpr std::int64_t least_columns = 64;
/// Runs of 16 bytes: what one asynchronous copy moves.
constexpr std::int64_t run = 8;
constexpr std::int64_t processors = 132;
constexpr std::int64_t most_stages = 4;
constexpr std::int64_t long_line = 64, short_line = 32;  ///< columns of the lines that results leave through
/// Beside the accumulators of two warpgroups; what the producers give up (docs/measurements.md).
constexpr std::int64_t warps_of_producer = 4;
constexpr std::int64_t registers_of_producer = 88, registers_of_consumer = 208;

bool has_columns(const Algorithm& algorithm, const GatheredProduct& loops) {
  if (loops.rows.empty() || loops.columns.empty()) return false;
  return loops.columns.size() == 1 || std::ranges::all_of(loops.columns, [&](const std::string& name) {
           return extent_of(algorithm, name).is_static();
         });
}

/// How the accumulators of a tile are shared out to warps, or to warpgroups.
struct Cut {
  std::int64_t columns = 0;    ///< columns of a tile
  std::int64_t rows_each = 0;  ///< rows of a warp or warpgroup
  std::int64_t columns_each = 0;
  std::string instruction;
};

class Grouped {
 public:
  Grouped(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
          GatheredProduct loops, const ShflBwKnobs& knobs)
      : loops_(std::move(loops)),
        knobs_(knobs),
        tiles_(group_tiles(*weights)),
        group_(tiles_.rows),
        extent_(columns_of(algorithm, loops_)),
        warpgroups_(knobs.instruction == ShflBwInstruction::chosen
                        ? target.name == "sm_90a" && group_ >= rows_of_warpgroup
                        : knobs.instruction == ShflBwInstruction::wgmma),
        schedule_(std::move(algorithm), std::move(weights), target) {}

  Schedule operator()() {
    refuse_idle_knobs();
    const Cut cut = warpgroups_ ? cut_of_warpgroups() : cut_of_warps();
    refuse_wide_warps(cut);
    LoopName blocks_of_rows(loops_.rows + ".block");
    const LoopName row(loops_.rows + ".row");
    const std::string all_columns = one_loop_over_columns();
    LoopName columns(all_columns + ".outer");
    // Tiles of a cluster are parts of a larger one, whose last may lie outside.
    const LoopName in_cluster(all_columns + ".inner.outer");
    const LoopName column(all_columns + (in_clusters() ? ".inner.inner" : ".inner"));
    const LoopName blocks(loops_.sum + ".block"), place(loops_.sum + ".place");
    const LoopName row_warps(row.text() + ".outer"), warp_row(row.text() + ".inner");
    const LoopName column_warps(column.text() + ".outer"), warp_column(column.text() + ".inner");
    schedule_.split(LoopFactor{LoopName(all_columns), cut.columns * blocks_of_cluster()});
    if (in_clusters()) schedule_.split(LoopFactor{LoopName(all_columns + ".inner"), cut.columns});
    schedule_.split(LoopFactor{column, cut.columns_each}, LoopFactor{row, cut.rows_each});
    const LoopName& outer = inner_tiles_are_columns() ? blocks_of_rows : columns;
    const LoopName& inner = inner_tiles_are_columns() ? columns : blocks_of_rows;
    if (in_clusters()) {
      schedule_
          .reorder(in_cluster, outer, inner, blocks, row_warps, column_warps, warp_row, warp_column, place)
          .bind(in_cluster, block_z);
    } else {
      schedule_.reorder(outer, inner, blocks, row_warps, column_warps, warp_row, warp_column, place);
    }
    if (const std::int64_t side = columns_at_a_time(cut); side > 1)
      std::tie(columns, blocks_of_rows) = side_by_side(columns, blocks_of_rows, side);
    schedule_.bind(columns, block_y).bind(blocks_of_rows, block_x);
    copy_ahead(blocks, stages_of(cut));
    schedule_.bind(row_warps, warp).bind(column_warps, warp).tensorize(cut.instruction);
    share_sums(blocks);
    schedule_.reorder_writeback(output(), weft::columns = line_of(cut));
    go_through_tiles(columns, blocks_of_rows);
    part_roles();
    if (in_clusters()) schedule_.multicast(schedule_.algorithm().sparse_operand()->name, in_cluster);
    return std::move(schedule_);
  }

 private:
  /// Knobs that nothing would follow.
  void refuse_idle_knobs() const {
    const bool registers = knobs_.producer_registers.value_or(0) + knobs_.consumer_registers.value_or(0) > 0;
    if (registers && !has_roles())
      throw UserError(
          {"registers are handed over between warps with roles", schedule_.target().name,
           fmt::format("producer_registers = {}, consumer_registers = {} with warps that all copy",
                       knobs_.producer_registers.value_or(0), knobs_.consumer_registers.value_or(0)),
           "neither of them, or producers = 4 beside them, on sm_90a"});
  }

  /// Warps that would compute beside their tile.
  void refuse_wide_warps(const Cut& cut) const {
    if (group_ % cut.rows_each == 0 && cut.columns_each <= cut.columns) return;
    throw UserError({"a warp is no part of its tile", schedule_.algorithm().name,
                     fmt::format("warp_m = {}, warp_n = {} in tile_m = {}, tile_n = {}", cut.rows_each,
                                 cut.columns_each, group_, cut.columns),
                     fmt::format("warp_m = {}, warp_n = {}, or parts of them, or larger tiles",
                                 std::gcd(cut.rows_each, group_), std::min(cut.columns_each, cut.columns))});
  }

  /// Producers copy whole runs.
  bool can_have_roles() const { return schedule_.target().name == "sm_90a" && has_runs(); }

  bool has_roles() const {
    if (knobs_.producers) return *knobs_.producers > 0;
    return can_have_roles() && knobs_.groups.value_or(1) == 1 && knobs_.stages.value_or(most_stages) > 1;
  }

  std::int64_t blocks_of_cluster() const { return knobs_.cluster.value_or(1); }
  bool in_clusters() const { return blocks_of_cluster() > 1; }

  /// Blocks that go through the tiles, of one number in their clusters; 0: each has a tile.
  std::int64_t blocks_through_tiles() const {
    const std::int64_t all = knobs_.blocks.value_or(has_roles() ? processors : 0);
    return all == 0 ? 0 : std::max<std::int64_t>(1, all / blocks_of_cluster());
  }

  /// Blocks that go through tiles at the same time share what they read of the operand whose tiles run
  /// inside; the other one is read from memory again and again, unless it stays in L2: the smaller one. Tall
  /// groups that list their columns gather so little that it does not pay (docs/measurements.md). For weights
  /// in groups, see columns_at_a_time.
  bool inner_tiles_are_columns() const {
    const Algorithm& algorithm = schedule_.algorithm();
    const Operand& dense = algorithm.operands[dense_operand(algorithm)];
    if (blocks_through_tiles() == 0 || !tiles_.two_of_four || algorithm.takes_any_weights()) return false;
    constexpr std::int64_t tall = 128;
    if (schedule_.weights()->has_array("column") && group_ >= tall) return false;
    const auto known = [](const Extent& extent) { return extent.is_static(); };
    if (!std::ranges::all_of(dense.shape, known)) return false;
    std::int64_t of_dense = 2;
    for (const Extent& extent : dense.shape) of_dense *= extent.value;
    const std::int64_t values = schedule_.weights()->array("values").size();
    const std::int64_t of_weights = values / (group_ * tiles_.kept()) * bytes_of_weights();
    return of_weights > of_dense;
  }

  void go_through_tiles(LoopName outer, LoopName inner) {
    if (blocks_through_tiles() == 0) return;
    if (inner_tiles_are_columns()) std::swap(outer, inner);
    schedule_.persist(outer, inner, weft::blocks = blocks_through_tiles());
  }

  /// Two loops over tiles: the outer one goes over several columns, and the inner one over those and all
  /// rows.
  std::pair<LoopName, LoopName> side_by_side(const LoopName& columns, const LoopName& blocks_of_rows,
                                             std::int64_t side) {
    const auto [several, own] = schedule_.split(columns, side);
    schedule_.reorder(several, blocks_of_rows, own);
    return {several, schedule_.fuse({blocks_of_rows, own})};
  }

  /// Columns of tiles that blocks go through side by side. All values are read once for each time that blocks
  /// go through the rows: where they do not stay in the cache and are much of what a tile reads, several
  /// columns share one reading, as long as the rows of B that these read stay there (docs/measurements.md).
  std::int64_t columns_at_a_time(const Cut& cut) const {
    constexpr std::int64_t kept_of_values = 16 << 20, kept_of_dense = 12 << 20;  // bytes of the cache
    constexpr std::int64_t little = 8;  // the share of a tile's bytes
    const SparseTensor& weights = *schedule_.weights();
    const bool stays = 2 * static_cast<std::int64_t>(weights.array("values").size()) <= kept_of_values;
    if (stays || tiles_.two_of_four || blocks_through_tiles() == 0 ||
        schedule_.algorithm().takes_any_weights() || !extent_.is_static() || loops_.columns.size() != 1)
      return 1;
    const std::int64_t width = cut.columns * blocks_of_cluster();
    const std::int64_t tiles = ceil_divide(extent_.value, width);
    std::int64_t side = 1;
    while (tiles % (2 * side) == 0 && group_ * little > side * (group_ + width) &&
           2 * side * 2 * width * weights.columns() <= kept_of_dense)
      side *= 2;
    return side;
  }

  void part_roles() {
    if (!has_roles()) return;
    const std::int64_t own = knobs_.producer_registers.value_or(warpgroups_ ? registers_of_producer : 0);
    const std::int64_t others = knobs_.consumer_registers.value_or(warpgroups_ ? registers_of_consumer : 0);
    const Argument warps = producers = knobs_.producers.value_or(warps_of_producer);
    if (own == 0 && others == 0) {
      schedule_.specialize_warps(warps);
    } else {
      schedule_.specialize_warps(warps, producer_registers = own, consumer_registers = others);
    }
  }

  /// Pixels and images of a convolution are columns of a product: one loop goes over them all. Returns its
  /// name.
  std::string one_loop_over_columns() {
    std::string all;
    for (const std::string& name : loops_.columns) all += (all.empty() ? "" : "_") + name;
    if (loops_.columns.size() == 1) return all;
    Step together{"reorder", {}, {}};
    for (const std::string& name : loops_.columns) together.arguments.push_back({{}, name});
    Step fused = together;
    fused.name = "fuse";
    for (const char* part : {".block", ".row"}) together.arguments.push_back({{}, loops_.rows + part});
    schedule_.apply(together).apply(fused);
    return all;
  }

  /// Whether runs of columns are neighbours in B.
  bool has_runs() const {
    const Algorithm& algorithm = schedule_.algorithm();
    const Operand& dense = algorithm.operands[dense_operand(algorithm)];
    const Extent& innermost = extent_of(algorithm, loops_.columns.back());
    if (!innermost.is_multiple_of(run)) return false;
    if (!dense.strides.empty() && !std::all_of(dense.strides.begin(), dense.strides.end() - 1,
                                               [](std::int64_t stride) { return stride % run == 0; }))
      return false;
    for (const TensorAccess& factor : algorithm.factors) {
      const std::string* last = factor.indices.back().plain();
      if (&algorithm.operands[factor.operand] == &dense)
        return last != nullptr && *last == loops_.columns.back() &&
               (dense.strides.empty() || dense.strides.back() == 1);
    }
    return false;
  }

  /// As many as knobs say or a tile may have, and no more than twice what there is. Blocks that go through
  /// tiles take the width with which the one that has most of them is done first.
  std::int64_t columns_of_tile(std::int64_t most) const {
    if (knobs_.tile_n) return *knobs_.tile_n;
    if (!extent_.is_static()) return most;
    const auto enough = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(extent_.value)));
    const std::int64_t widest = std::clamp(enough, least_columns, most);
    std::int64_t best = widest;
    for (std::int64_t width = widest / 2; width >= least_columns && goes_through_tiles(); width /= 2) {
      if (clocks_with(width) < clocks_with(best)) best = width;
    }
    return best;
  }

  bool goes_through_tiles() const {
    return has_roles() && knobs_.blocks.value_or(processors) > 0 && !knobs_.warp_n;
  }

  /// What the block with the most tiles takes. A tile takes what its copies and its results take at the rates
  /// of a multiprocessor, and the time until the first copies are there (docs/measurements.md).
  double clocks_with(std::int64_t width) const {
    constexpr double copied_a_clock = 40, stored_a_clock = 20, until_first = 1500;  // bytes; clocks
    const Array& values = schedule_.weights()->array("values");
    const auto groups = std::max<std::int64_t>(1, ceil_divide(schedule_.weights()->rows(), group_));
    const std::int64_t tiles = groups * ceil_divide(extent_.value, width * blocks_of_cluster());
    const std::int64_t turns = ceil_divide(tiles, blocks_through_tiles());
    const double kept = static_cast<double>(values.size()) / static_cast<double>(group_ * groups);
    const double of_weights = static_cast<double>(bytes_of_weights()) / static_cast<double>(tiles_.kept());
    const double of_dense =
        2 * static_cast<double>(width * tiles_.places) / static_cast<double>(tiles_.kept());
    const double copied = kept * (of_weights + of_dense) / copied_a_clock;
    const double stored = 2 * static_cast<double>(group_ * width) / stored_a_clock;
    return static_cast<double>(turns) * (copied + stored + until_first);
  }

  /// Two warpgroups of 128 accumulators a thread: beside each other, or one below the other.
  Cut cut_of_warpgroups() const {
    Cut cut;
    cut.columns = columns_of_tile(32'768 / group_);
    const bool beside = group_ == rows_of_warpgroup;
    cut.rows_each = knobs_.warp_m.value_or(beside ? rows_of_warpgroup : group_ / 2);
    cut.columns_each = knobs_.warp_n.value_or(beside ? cut.columns / 2 : cut.columns);
    cut.instruction =
        fmt::format("wgmma{}_m64n{}k{}", tiles_.two_of_four ? "_sp" : "",
                    std::min<std::int64_t>(256, cut.columns_each), tiles_.two_of_four ? 32 : 16);
    return cut;
  }

  /// Warps of up to 64 x 32 accumulators.
  Cut cut_of_warps() const {
    const bool large = has_roles();
    Cut cut;
    cut.columns = columns_of_tile(group_ > 128 ? 64 : large ? 256 : 128);
    cut.rows_each = knobs_.warp_m.value_or(std::min<std::int64_t>(group_, group_ >= 128 ? 64 : 32));
    cut.columns_each = knobs_.warp_n.value_or(std::min<std::int64_t>(32, cut.columns));
    const bool deep = knobs_.instruction == ShflBwInstruction::chosen
                          ? schedule_.target().sm >= 80
                          : knobs_.instruction == ShflBwInstruction::mma_m16n8k16;
    cut.instruction = tiles_.two_of_four ? "mma_sp_m16n8k32" : deep ? "mma_m16n8k16" : "mma_m16n8k8";
    return cut;
  }

  std::string output() const {
    const Algorithm& algorithm = schedule_.algorithm();
    return algorithm.operands[algorithm.output.operand].name;
  }

  std::int64_t bytes_of_stage(const Cut& cut) const {
    return bytes_of_weights() + 2 * tiles_.places * cut.columns;
  }

  /// Values and codes of a block.
  std::int64_t bytes_of_weights() const {
    const std::int64_t codes = tiles_.two_of_four ? tiles_.places / (2 * slots_of_quad) : 0;
    return group_ * (2 * tiles_.kept() + codes);
  }

  /// Beside the stages: barriers, and the lines that results leave through.
  std::int64_t bytes_kept(const Cut& cut, std::int64_t line) const {
    const std::int64_t warps =
        group_ / cut.rows_each * (cut.columns / cut.columns_each) * (warpgroups_ ? 4 : 1);
    return 256 + warps * rows_of_warp * 2 * (std::min(line, cut.columns_each) + run);
  }

  /// Short lines where long ones would take the room of a stage that is needed.
  std::int64_t line_of(const Cut& cut) const {
    if (knobs_.line && *knobs_.line > cut.columns_each)
      throw UserError({"lines are longer than the columns of a warp", schedule_.algorithm().name,
                       fmt::format("line = {}, warp_n = {}", *knobs_.line, cut.columns_each),
                       fmt::format("line = {} or less", cut.columns_each)});
    if (knobs_.line) return *knobs_.line;
    const std::int64_t room = schedule_.target().shared_bytes_per_block - bytes_kept(cut, long_line);
    return room / bytes_of_stage(cut) >= stages_of(cut) ? long_line : short_line;
  }

  std::int64_t stages_of(const Cut& cut) const {
    if (knobs_.stages) return *knobs_.stages;
    if (schedule_.target().sm < 80) return 1;
    const std::int64_t room = schedule_.target().shared_bytes_per_block - bytes_kept(cut, short_line);
    return std::clamp<std::int64_t>(room / bytes_of_stage(cut), 1, most_stages);
  }

  void share_sums(const LoopName& blocks) {
    if (knobs_.groups.value_or(1) <= 1) return;
    schedule_.bind(schedule_.split_k(blocks, *knobs_.groups, second_pass), block_z);
  }

  void copy_ahead(const LoopName& blocks, std::int64_t stages) {
    const std::string weights = schedule_.algorithm().sparse_operand()->name;
    const auto copy = [&](const auto&... buffers) {
      schedule_.stage(weights + ".values", shared, at = blocks, buffers...)
          .stitch(loops_.dense, shared, at = blocks, buffers...);
      if (tiles_.two_of_four) schedule_.stage(weights + ".metadata", shared, at = blocks, buffers...);
    };
    // One buffer is what these steps take when nothing is said.
    stages > 1 ? copy(depth = stages) : copy();
  }

  GatheredProduct loops_;
  ShflBwKnobs knobs_;
  GroupTiles tiles_;
  std::int64_t group_;
  Extent extent_;
  bool warpgroups_;
  Schedule schedule_;
};

/// The weights in the tiles that the knobs ask for. A part of a group's rows keeps the group's columns.
std::shared_ptr<const SparseTensor> in_tiles(std::shared_ptr<const SparseTensor> weights,
                                             const ShflBwKnobs& knobs) {
  const Format& format = weights->format();
  const GroupTiles tiles = group_tiles(*weights);
  const std::int64_t rows = knobs.tile_m.value_or(tiles.rows), deep = knobs.tile_k.value_or(tiles.places);
  // These have no groups of their own: their rows come as they are.
  if (rows > tiles.rows && format.name != "n_m" && format.name != "column_quads")
    throw UserError({"a tile has rows of one group", format.text(), fmt::format("tile_m = {}", rows),
                     fmt::format("at most V = {}", tiles.rows)});
  if (rows == tiles.rows && deep == tiles.places) return weights;
  Format other = format;
  other.parameters["V"] = rows;
  other.parameters["k"] = deep;
  return std::make_shared<const SparseTensor>(repack(*weights, other));
}

}  // namespace

GroupTiles group_tiles(const SparseTensor& weights) {
  const std::vector<std::int64_t>& shape = weights.array("values").shape();
  const bool two_of_four =
      std::ranges::find(weights.levels(), LevelKind::n_of_m, &Level::kind) != weights.levels().end();
  return {shape.at(1), shape.at(2) * (two_of_four ? slots_of_quad / kept_of_quad : 1), two_of_four};
}

bool has_grouped_product(const RecipeNeeds& needs, const Algorithm& algorithm, const SparseTensor& weights,
                         const Target& target) {
  require_halves(needs, algorithm, weights);
  // Blocks of rows and columns; an array made by hand may lie otherwise.
  if (weights.array("values").shape().size() < 3)
    refuse_recipe(needs, algorithm, "weights in " + weights.format().text(),
                  "weights whose values lie in tiles of rows and columns (formats shfl_bw, vector_wise, n_m, "
                  "v_n_m), or default_schedule(algorithm, weights, target)");
  const GroupTiles tiles = group_tiles(weights);
  if (tiles.rows < rows_of_warp)
    refuse_recipe(
        needs, algorithm, fmt::format("groups of {} rows in {}", tiles.rows, weights.format().text()),
        fmt::format("V = {} or more, as an instruction takes, or default_schedule(algorithm, weights, "
                    "target)",
                    rows_of_warp));
  if (!has_columns(algorithm, gathered_product(algorithm)))
    refuse_recipe(needs, algorithm, "an algorithm of another form",
                  "a product C[m, n] = sum of A[m, k] B[k, n], or a convolution of known size; else "
                  "default_schedule(algorithm, weights, target)");
  const bool newer = target.sm >= 80;
  return target.is_gpu() && (newer || (weights.dtype() == DType::f16 && !tiles.two_of_four));
}

Schedule grouped_product(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights,
                         const Target& target, const ShflBwKnobs& knobs) {
  GatheredProduct loops = gathered_product(algorithm);
  return Grouped(std::move(algorithm), in_tiles(std::move(weights), knobs), target, std::move(loops),
                 knobs)();
}

}  // namespace weft
