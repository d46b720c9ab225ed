#include <fmt/format.h>
#include <weft/scheduler/recipes/parts/ordered.h>
#include <weft/scheduler/recipes/parts/product.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/scheduler/recipes/unstructured/convolution.h>
#include <weft/scheduler/recipes/unstructured/cut.h>
#include <weft/scheduler/recipes/unstructured/form.h>
#include <weft/scheduler/recipes/unstructured/order.h>
#include <weft/scheduler/recipes/unstructured/pieces.h>
#include <weft/scheduler/recipes/unstructured/sparsert.h>
#include <weft/scheduler/recipes/unstructured/streaming.h>

namespace weft {
namespace {

// Measured on an H200 (docs/measurements.md).
using recipe_knobs::lanes_of_warp;
constexpr std::int64_t many_columns = 100'000;  ///< a number that a launch gives is taken for that
constexpr std::int64_t bytes_of_many_results = 12'000'000;  ///< a quarter of the second cache

/// A number of columns that a launch gives is taken for many.
BakedSize size_of(const Algorithm& algorithm, const SparseTensor& weights, const ProductLoops& loops) {
  const Extent columns = extent_of(algorithm, loops.columns);
  return {weights.rows(), weights.columns(), weights.array("values").size(),
          columns.is_static() ? columns.value : many_columns,
          static_cast<std::int64_t>(weft::size_of(algorithm.accumulator))};
}

/// The steps of a product in code.
class Baking {
 public:
  Baking(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
         const ProductLoops& loops, SparseRtOrder order)
      : loops_(loops),
        order_(order),
        size_(size_of(algorithm, *weights, loops)),
        has_size_(extent_of(algorithm, loops.columns).is_static()),
        schedule_(ordered_schedule(std::move(algorithm), std::move(weights), target)) {}

  Schedule operator()(const BakedPlan& plan) {
    require_sum(schedule_);
    std::visit([this](const auto& cut) { bake(cut); }, plan);
    return std::move(schedule_);
  }

 private:
  void share_out(std::int64_t rows) {
    if (const auto dealt = dealt_to_blocks(*schedule_.weights(), rows, order_))
      schedule_ = ordered_schedule(schedule_.algorithm(), dealt, schedule_.target());
  }

  void split(std::int64_t rows, std::int64_t threads) {
    const auto [of_rows, of_columns] = schedule_.split(loops_.rows, rows, loops_.columns, threads);
    row_blocks_ = of_rows.outer;
    row_ = of_rows.inner;
    column_blocks_ = of_columns.outer;
    column_ = of_columns.inner;
  }

  /// Wide blocks of one instruction stream: B comes through shared memory, and a barrier at every chunk keeps
  /// the warps at instructions that the caches have just read.
  void bake(const ChunkedCut& cut) {
    // How many columns there are a launch may say, and blocks along y are few.
    const bool rows_first = cut.rows_first && has_size_;
    share_out(cut.rows);
    split(cut.rows, cut.threads);
    schedule_.reorder(row_blocks_, column_blocks_, column_, row_)
        .bind(row_blocks_, rows_first ? block_x : block_y)
        .bind(column_blocks_, rows_first ? block_y : block_x);
    const LoopName chunks = schedule_.bake_values(row_, cut.chunk);
    schedule_.reorder(chunks, column_)
        .bind(column_, thread)
        .stage(loops_.dense, shared, at = chunks, depth = cut.depth);
  }

  /// Rows of the output one block after the other, in code that finds all of B that it reads in registers.
  void bake(const HeldCut& cut) {
    split(cut.rows, cut.threads);
    schedule_.reorder(column_blocks_, column_, row_blocks_, row_)
        .bind(column_blocks_, block_x)
        .bind(column_, thread)
        .unroll(row_blocks_)
        .bake_values(row_);
  }

  void bake(const BakedCut& cut) {
    const auto [rows, threads, share] = cut;
    if (share > 1 && threads % 32 != 0)
      throw UserError("groups of sparsert share whole warps", schedule_.algorithm().name,
                      fmt::format("threads = {} with groups = {}", threads, share),
                      fmt::format("threads = {}, or another multiple of 32",
                                  ceil_divide(threads, lanes_of_warp) * lanes_of_warp));
    share_out(rows);
    if (has_size_) schedule_.resident(blocks = BakedProduct(size_, schedule_.target()).resident(cut));
    split(rows, threads);
    if (share == 1) {
      schedule_.reorder(row_blocks_, column_blocks_, column_, row_)
          .bind(row_blocks_, block_y)
          .bind(column_blocks_, block_x)
          .bind(column_, thread)
          .bake_values(row_);
      return;
    }
    const auto [warps, lanes] = schedule_.split(column_, lanes_of_warp);
    schedule_.reorder(row_blocks_, column_blocks_, warps, lanes, row_)
        .bind(row_blocks_, block_y)
        .bind(column_blocks_, block_x)
        .bind(warps, warp)
        .bind(lanes, lane);
    schedule_.bind(schedule_.split_k(loops_.sum, share), warp).bake_values(row_);
  }

  ProductLoops loops_;
  SparseRtOrder order_;
  BakedSize size_;
  bool has_size_;
  Schedule schedule_;
  LoopName row_blocks_, row_, column_blocks_, column_;  ///< what split makes
};

SparseRtForm chosen_form(const Algorithm& algorithm, const SparseTensor& weights, const Target& target,
                         const ProductLoops& loops) {
  const BakedSize size = size_of(algorithm, weights, loops);
  const bool has_size = extent_of(algorithm, loops.columns).is_static();
  const SparseRtForm form = form_by_size(size, has_size, target);
  const PiecesTile tile{.tile = columns_of_pieces, .tiles = 1, .loads = columns_of_pieces / lanes_of_warp};
  if (form != SparseRtForm::pieces || pieces_cut(weights, target, tile, {})) return form;
  return form_beside_pieces(size, has_size, target);
}

/// Throws where a knob was given that the form does not have.
void refuse_idle(const SparseRtKnobs& knobs, SparseRtForm form, const std::string& algorithm) {
  const IdleKnobs idle(algorithm, form == SparseRtForm::baked       ? "the form baked"
                                  : form == SparseRtForm::streaming ? "the form streaming"
                                  : form == SparseRtForm::pieces    ? "the form pieces"
                                                                    : "the form row_per_warp");
  const char* const of_image = "a convolution";
  idle.refuse(knobs.lines, "lines", of_image);
  idle.refuse(static_cast<std::int64_t>(knobs.image), "image", of_image);
  if (form == SparseRtForm::baked) {
    const char* const of_data = "form = streaming or row_per_warp; baked code has one column a thread";
    idle.refuse(knobs.columns, "columns", of_data);
    idle.refuse(knobs.lanes, "lanes", of_data);
    idle.refuse(knobs.places, "places", of_data);
  } else {
    idle.refuse(knobs.chunk, "chunk", "form = baked");
    idle.refuse(static_cast<std::int64_t>(knobs.order), "order", "form = baked");
  }
  if (form != SparseRtForm::streaming) {
    if (form != SparseRtForm::pieces) idle.refuse(knobs.parts, "parts", "form = streaming or pieces");
    idle.refuse(knobs.panel_rows, "panel_rows", "form = streaming");
  }
  if (form == SparseRtForm::pieces) {
    idle.refuse(knobs.lanes, "lanes", "form = row_per_warp; pieces have whole warps");
    idle.refuse(knobs.rows, "rows", "parts: rows of a block follow from their lengths");
    if (knobs.groups > 1) idle.refuse(knobs.groups, "groups", "groups = 1: pieces share rows already");
  }
  if (knobs.chunk > 0 && knobs.groups > 1) idle.refuse(knobs.groups, "groups beside chunks", "groups = 1");
  if (knobs.chunk == 0) idle.refuse(knobs.depth, "depth", "a chunk beside it");
  if (knobs.rows > 0) idle.refuse(knobs.parts, "parts beside rows", "one of them");
  if (form == SparseRtForm::streaming && knobs.groups > 1)
    idle.refuse(knobs.groups, "groups", "groups = 1: B takes the shared memory that they would meet in");
  if (form == SparseRtForm::row_per_warp && knobs.threads > 0 && knobs.groups * 32 > knobs.threads)
    throw UserError("groups of sparsert share whole warps", algorithm,
                    fmt::format("{} groups of {} threads", knobs.groups, knobs.threads),
                    "at least 32 threads for each group");
}

Schedule of_form(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                 const ProductLoops& loops, const SparseRtKnobs& knobs) {
  if (knobs.form == SparseRtForm::pieces)
    return sparsert_pieces(std::move(algorithm), *weights, target, loops, knobs);
  if (knobs.form == SparseRtForm::baked) {
    const bool has_size = extent_of(algorithm, loops.columns).is_static();
    const BakedPlan plan = baked_plan(size_of(algorithm, *weights, loops), has_size, target, knobs);
    return Baking(std::move(algorithm), std::move(weights), target, loops, knobs.order)(plan);
  }
  return sparsert_streaming(std::move(algorithm), *weights, target, loops, knobs);
}

/// 0 where a launch says how many.
std::int64_t bytes_of(const Operand& operand) {
  auto bytes = static_cast<std::int64_t>(size_of(operand.dtype));
  for (const Extent& extent : operand.shape) bytes *= extent.is_static() ? extent.value : 0;
  return bytes;
}

Schedule schedule_with(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                       const SparseRtKnobs& knobs) {
  const RecipeNeeds needs{"sparsert", "csr", "formats::csr()"};
  const std::string given = require_in_range("sparsert", sparsert_knobs(), knobs);
  require_format(needs, algorithm, weights.get(), [](const Format& format) { return format.name == "csr"; });
  if (algorithm.takes_any_weights())
    refuse_recipe(needs, algorithm, "an algorithm for weights of any size",
                  "weights whose size is known, which become code; else default_schedule(algorithm, weights, "
                  "target)");
  if (!target.is_gpu())
    return left_to_default(needs, std::move(algorithm), std::move(weights), target, given);
  const ConvolutionLoops of_image = convolution_loops(algorithm);
  if (!of_image.filters.empty() && weights->array("values").size() <= most_baked_entries)
    return with_recipe_named(needs.name, given, [&] {
      return sparsert_convolution(std::move(algorithm), std::move(weights), target, of_image, knobs);
    });
  const ProductLoops loops = product_loops(algorithm);
  if (loops.columns.empty())
    return left_to_default(needs, std::move(algorithm), std::move(weights), target, given);
  SparseRtKnobs chosen = knobs;
  if (knobs.form == SparseRtForm::chosen) chosen.form = chosen_form(algorithm, *weights, target, loops);
  refuse_idle(knobs, chosen.form, algorithm.name);
  Schedule result = with_recipe_named(needs.name, given, [&] {
    return of_form(std::move(algorithm), std::move(weights), target, loops, chosen);
  });
  const Operand& output = result.algorithm().operands.back();
  if (bytes_of(output) >= bytes_of_many_results) result.stream_results(output.name);
  return result;
}

}  // namespace

Schedule sparsert(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                  const SparseRtKnobs& knobs, CallPlace place) {
  return made_with_knobs(place, sparsert_knobs(), knobs, [&](const SparseRtKnobs& each) {
    return schedule_with(algorithm, weights, target, each);
  });
}

}  // namespace weft
