// The points of the recipe hb_ell: tiles, how warps share them, stages and groups.
#include <weft/scheduler/hardware/simulated_target.h>
#include <weft/scheduler/limits/resource_constraints.h>
#include <weft/scheduler/recipes/blocks/choices.h>
#include <weft/scheduler/recipes/blocks/shape.h>
#include <weft/scheduler/recipes/parts/conditions.h>
#include <weft/scheduler/recipes/parts/product.h>

#include <algorithm>

namespace weft {
namespace {

using Values = std::vector<std::int64_t>;
using namespace block_tiles;

constexpr std::int64_t index_bytes = 4;
constexpr std::int64_t most_stages = 8;
constexpr std::int64_t most_of_row = 8;           ///< threads that decode a row together
constexpr std::int64_t most_numbers = 16 * 1024;  ///< bytes of where the blocks of a tile lie
constexpr std::int64_t half_of_processors = measured_device.multiprocessors / 2;
constexpr std::int64_t shared_sums = 640;  ///< blocks of an H200

/// What the knobs of a point come to. Where blocks without entries are not stored, tile_m, tile_k and warp_m
/// are 0: a tile is a block.
class Choices {
 public:
  Choices(const SpaceProblem& problem, const Target& target, const SpaceOptions& options,
          const SparseTensor& weights)
      : target_(target),
        options_(options),
        together_(parameter_of(problem.format, "every", 0)),
        offset_bits_(parameter_of(problem.format, "offset", 8)),
        rows_(weights.rows()),
        widest_(widest_of(weights)),
        columns_(extent_of(problem.algorithm, product_loops(problem.algorithm).columns)) {
    const std::int64_t filled_up = std::max<std::int64_t>(1, together_);
    blocks_beside_ = ceil_divide(ceil_divide(weights.columns(), block), filled_up) * filled_up;
  }

  std::vector<ir::Knob> knobs() const {
    const bool several = together_ > 0, ahead = target_.has(Capability::asynchronous_copies);
    const auto stored = [&](Values values) { return several ? std::move(values) : Values{0}; };
    return {{"tile_m", stored({16, 32, 64, 128})},
            {"tile_n", {64, 128, 256, 512}},
            {"tile_k", stored({16, 32, 64})},
            {"warp_m", stored({16, 32, 64})},
            {"warp_n", {16, 32, 64, 128, 256}},
            {"stages", ahead ? Values{1, 2, 3, 4, 6, 8} : Values{1}},
            {"groups", {1, 2, 4, 8}}};
  }

  std::vector<Constraint> constraints() const {
    Conditions list;
    if (together_ > 0) {
      list.at_most("rows of a tile", "rows of a tile, of blocks that are stored together", "rows",
                   v("tile_m"), together_ * block);
      list.at_most("places of a tile", "columns of A in a tile, of blocks that are stored together",
                   "columns", v("tile_k"), together_ * block);
      list.divides("rows of a warp", "rows of a tile that no warp takes", v("warp_m"), v("tile_m"));
    }
    list.divides("columns of a warp", "columns of a tile that no warp takes", v("warp_n"), v("tile_n"));
    list.at_most("threads", "threads of a block", "threads", threads(), target_.threads_per_block);
    list.at_most("copies ahead", "stages", "stages", v("stages"),
                 target_.has(Capability::asynchronous_copies) ? most_stages : 1);
    list.sum_at_most("shared memory", "bytes of shared memory of a block", "B", shared_bytes(),
                     target_.shared_bytes_per_block);
    list.sum_at_most("registers", "32-bit registers of a thread", "registers",
                     {{"sums", sums()}, {"addresses", reserved_registers}}, target_.registers_per_thread);
    list.at_most("registers of a multiprocessor", "32-bit registers of all threads of a block", "registers",
                 (sums() + reserved_registers) * threads(),
                 target_.registers_per_multiprocessor / options_.resident_blocks);
    return list.take();
  }

  std::vector<Constraint> preferences() const {
    Conditions list;
    list.at_most("warps", "warps that keep a processor busy", "warps", 2, warps());
    list.at_most("sums of a thread", "sums of a thread, so that loads are few", "registers", 16, sums());
    if (target_.has(Capability::asynchronous_copies))
      list.at_most("stages", "tiles under way, so that nobody waits for one", "stages", 2, v("stages"));
    list.sum_at_most(
        "expected registers", "32-bit registers of a thread, as far as can be foretold", "registers",
        {{"sums", sums()},
         {"shared sums", ir::minimum(v("groups") - 1, 1) * (sums() / 2)},
         {"a decoded row", block},
         {"operands", ir::select(tile_.by_warpgroups(), 0, tile_.rows_each / 4 + v("warp_n") / 8)},
         {"addresses", reserved_registers + options_.more_registers}},
        registers_there(target_, options_, threads()));
    if (!columns_.is_static()) return list.take();
    const Expr tiles = ir::ceil_divide(rows_, tile_.rows) * ir::ceil_divide(columns_.value, v("tile_n"));
    list.at_most("columns", "columns of a tile, of which half are there", "columns", v("tile_n"),
                 std::max<std::int64_t>(64, 2 * columns_.value - 1));
    list.at_most("blocks", "blocks, for half of the processors", "blocks",
                 ir::minimum(half_of_processors, ceil_divide(rows_, block) * ceil_divide(columns_.value, 64)),
                 tiles * v("groups"));
    list.at_most("shared sums", "tiles that leave processors without one", "tiles", (v("groups") - 1) * tiles,
                 shared_sums);
    list.at_most("turns of a group", "columns of A for each group that shares a sum", "columns",
                 v("groups") * tile_.places, blocks_beside_ * block);
    return list.take();
  }

 private:
  static std::int64_t widest_of(const SparseTensor& weights) {
    std::int64_t most = 1;
    for (const std::int32_t width : weights.array("bcols").as<std::int32_t>())
      most = std::max<std::int64_t>(most, width);
    return most;
  }

  /// A block is a tile where they are not stored together.
  Expr of_stored(const char* knob) const { return together_ > 0 ? v(knob) : block; }
  Expr warps() const { return tile_.warps(); }
  Expr threads() const { return tile_.threads(); }
  Expr sums() const { return tile_.sums(); }
  /// Places of a row of the widest block, which the threads that decode it have equally many of; what tiles,
  /// threads and these come to are powers of two.
  Expr places_of_row() const {
    const Expr of_rows = ir::maximum(threads() / tile_.rows, 1);
    const Expr beside = ir::minimum(of_rows, tile_.places / block);
    const Expr of_row = ir::minimum(of_rows / beside, most_of_row);
    return ir::ceil_divide(widest_, of_row) * of_row;
  }

  Summands shared_bytes() const {
    const Expr stored = tile_.rows / block * tile_.places * places_of_row() * v("stages");
    const Expr line = ir::minimum(v("warp_n"), longest_line) + gap;
    Summands parts{{"rows of B", v("stages") * tile_.bytes_of_dense()},
                   {"values", stored * bytes_of_element},
                   {"offsets", stored * offset_bits_ / 8},
                   {"decoded blocks", tile_.bytes_of_decoded()},
                   {"lines", warps() * line * (block * bytes_of_element)}};
    if (together_ == 0) return parts;
    const Expr turn = tile_.places / block;
    const Expr numbers =
        tile_.rows / block * ir::ceil_divide(blocks_beside_, turn) * turn * (2 * index_bytes);
    parts.emplace_back("where blocks lie", ir::select(numbers <= most_numbers, numbers, 0));
    return parts;
  }

  const Target& target_;
  SpaceOptions options_;
  std::int64_t together_;  ///< block rows and block columns; 0: blocks without entries are not stored
  std::int64_t offset_bits_;
  std::int64_t rows_, blocks_beside_ = 0;
  std::int64_t widest_;
  Extent columns_;
  Tile<Expr> tile_{of_stored("tile_m"),
                   v("tile_n"),
                   of_stored("tile_k"),
                   of_stored("warp_m"),
                   v("warp_n"),
                   v("stages"),
                   ir::boolean(target_.has(Capability::warpgroup_tensor_cores) && together_ > 0)};
};

}  // namespace

std::string why_no_hb_ell(const SpaceProblem& problem, const Target& target) {
  const Format& format = problem.format;
  if (!target.is_gpu()) return target.name + " has no tensor cores";
  if (is_simulated_only(target)) return target.name + " multiplies blocks as they are stored";
  if (format.name != "hb_ell" || parameter_of(format, "b", block) != block)
    return format.text() + " has no blocks of 16 x 16 that are as wide as each asks for";
  if (formats::keeps_two_of_four(format)) return format.text() + " has blocks for sparse tensor cores: v_n_m";
  if (auto reason = why_no_tensor_cores(target, problem.matrix->values.dtype()); !reason.empty())
    return reason;
  if (product_loops(problem.algorithm).rows.empty())
    return "the algorithm is no product C[m, n] of A[m, k] and B[k, n]";
  return why_no_sum(problem.algorithm);
}

RecipeChoices hb_ell_choices(const SpaceProblem& problem, PackedWeights& packed, const Target& target,
                             const SpaceOptions& options) {
  const Choices choices(problem, target, options, *packed.in(problem.format));
  return {.knobs = choices.knobs(), .limits = choices.constraints(), .worth = choices.preferences()};
}

}  // namespace weft
