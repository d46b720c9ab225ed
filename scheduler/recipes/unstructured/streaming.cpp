#include <weft/scheduler/hardware/device.h>
#include <weft/scheduler/recipes/parts/ordered.h>
#include <weft/scheduler/recipes/unstructured/slices.h>
#include <weft/scheduler/recipes/unstructured/streaming.h>

#include <algorithm>
#include <bit>

namespace weft {
namespace {

using recipe_knobs::lanes_of_warp;
constexpr std::int64_t columns_of_vector = 4;  ///< 16 bytes of B
constexpr std::int64_t places_at_a_time = 8;   ///< as many reads of B under way for each column
constexpr std::int64_t streaming_threads = 1024, row_per_warp_threads = 128;
constexpr std::int64_t wanted_blocks = 4 * measured_device.multiprocessors, most_row_blocks = 4;
/// A load of 16 bytes of B takes four turns of the banks, and so do, for all lanes, 16 bytes of values or
/// columns: with eight columns a lane, places cost a quarter of what B costs.
constexpr std::int64_t panel_columns = 8, global_columns = 4;
constexpr std::int64_t panel_lanes = 8;  ///< whose vectors lie in all banks

class Streaming {
 public:
  Streaming(Algorithm algorithm, const SparseTensor& weights, const Target& target, const ProductLoops& loops,
            const SparseRtKnobs& knobs)
      : loops_(loops),
        knobs_(knobs),
        panel_(knobs.form != SparseRtForm::row_per_warp),
        lanes_(knobs.lanes > 0 ? knobs.lanes
               : panel_        ? panel_lanes
                               : lanes_of_warp),
        columns_(knobs.columns > 0 ? knobs.columns
                 : panel_          ? panel_columns_of(extent_of(algorithm, loops.columns))
                                   : global_columns),
        depth_(panel_ ? depth_of(algorithm, target) : 0),
        rows_(algorithm.sparse_operand()->shape.front().value),
        vector_(vector_of(algorithm)),
        schedule_(ordered_schedule(
            std::move(algorithm),
            std::make_shared<const SparseTensor>(repack(weights, formats::padded_csr(options()))), target)) {}

  Schedule operator()() {
    cut(knobs_.groups > 0 ? knobs_.groups : 1);
    return std::move(schedule_);
  }

 private:
  /// Fewer where not every processor would have a block otherwise.
  std::int64_t panel_columns_of(const Extent& extent) const {
    const bool few =
        extent.is_static() &&
        ceil_divide(extent.value, lanes_ * panel_columns) * most_row_blocks < wanted_blocks / most_row_blocks;
    return few ? columns_of_vector : panel_columns;
  }

  /// As many rows of B as shared memory holds, in equal pieces; 0 where it holds all.
  std::int64_t depth_of(const Algorithm& algorithm, const Target& target) const {
    std::int64_t bytes = 0;
    for (const Operand& operand : algorithm.operands) {
      if (operand.name == loops_.dense) bytes = static_cast<std::int64_t>(size_of(operand.dtype));
    }
    const std::int64_t whole = algorithm.sparse_operand()->shape.back().value;
    // A row of zeros for the padding.
    const std::int64_t fitting =
        std::max<std::int64_t>(1, target.shared_bytes_per_block / (lanes_ * columns_ * bytes) - 1);
    const std::int64_t wanted = knobs_.panel_rows > 0 ? std::min(knobs_.panel_rows, fitting) : fitting;
    return whole <= wanted ? 0 : ceil_divide(whole, ceil_divide(whole, wanted));
  }

  std::int64_t vector_of(const Algorithm& algorithm) const {
    const Extent extent = extent_of(algorithm, loops_.columns);
    const bool aligned = extent.is_static() && extent.value % columns_of_vector == 0;
    return (panel_ || aligned) && columns_ % columns_of_vector == 0 ? columns_of_vector : 1;
  }

  formats::PaddedOptions options() const {
    return {.pad = knobs_.places > 0 ? knobs_.places : places_at_a_time,
            .block = depth_,
            .rows = {.order = together() > 1 ? RowOrder::by_length : RowOrder::given}};
  }

  std::int64_t together() const { return lanes_of_warp / lanes_; }  ///< rows of a warp at a time

  /// Blocks that share the rows: each reads the panel anew, but a processor has one that computes while
  /// another one copies, and the last wave is shorter.
  std::int64_t row_blocks_wanted() const {
    if (knobs_.parts > 0) return knobs_.parts;
    const Extent extent = extent_of(schedule_.algorithm(), loops_.columns);
    if (!extent.is_static()) return 1;
    return std::clamp<std::int64_t>(wanted_blocks / ceil_divide(extent.value, lanes_ * columns_), 1,
                                    most_row_blocks);
  }

  void cut(std::int64_t groups) {
    const std::int64_t usual = panel_ ? streaming_threads : row_per_warp_threads;
    const std::int64_t threads = knobs_.threads > 0 ? knobs_.threads : usual;
    const std::int64_t warps = std::max<std::int64_t>(1, threads / lanes_of_warp / groups);
    const std::int64_t wanted = knobs_.rows > 0 ? knobs_.rows
                                : panel_        ? ceil_divide(rows_, warps * together() * row_blocks_wanted())
                                                : 1;
    // More rows than there are would be a loop that split refuses.
    const std::int64_t most = std::max<std::int64_t>(
        1024, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(rows_))));
    const std::int64_t turns =
        std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, most / (warps * together())));
    const std::vector<LoopName> sums = weight_loops(schedule_).sum;
    const LoopName &sum = sums.at(sums.size() - 2), &place = sums.back();
    const auto [rows, columns] =
        schedule_.split(loops_.rows, turns * together() * warps, loops_.columns, lanes_ * columns_);
    const auto [rows_of_block, columns_of_block] =
        schedule_.split(rows.inner, turns * together(), columns.inner, lanes_ * vector_);
    const auto [rows_of_warp, columns_of_warp] =
        schedule_.split(rows_of_block.inner, together(), columns_of_block.inner, vector_);
    const LoopName &row_warps = rows_of_block.outer, &vectors = columns_of_block.outer;
    const auto& [turn, row_lanes] = rows_of_warp;
    const auto& [column_lanes, column] = columns_of_warp;
    std::vector<LoopName> order{columns.outer, rows.outer};
    // Rows of B that are in shared memory at a time are blocks of the sum.
    if (depth_ > 0) order.push_back(sums.front());
    const LoopName block = order.back();
    order.insert(order.end(), {row_warps, row_lanes, column_lanes, turn, sum, place, vectors, column});
    schedule_.reorder(order).bind(columns.outer, block_x).bind(rows.outer, block_y);
    if (panel_) schedule_.stage(loops_.dense, shared, at = block);
    schedule_.bind(row_warps, warp).bind(row_lanes, lane).bind(column_lanes, lane);
    if (groups > 1) schedule_.bind(schedule_.split_k(sum, groups), warp);
    schedule_.unroll(place).unroll(vectors);
    if (vector_ > 1) schedule_.vectorize(column);
  }

  ProductLoops loops_;
  SparseRtKnobs knobs_;
  bool panel_;
  std::int64_t lanes_, columns_;
  std::int64_t depth_;  ///< rows of B in shared memory at a time; 0: all
  std::int64_t rows_;
  std::int64_t vector_;  ///< columns of a lane beside each other
  Schedule schedule_;
};

}  // namespace

Schedule sparsert_streaming(Algorithm algorithm, const SparseTensor& weights, const Target& target,
                            const ProductLoops& loops, const SparseRtKnobs& knobs) {
  if (knobs.form == SparseRtForm::streaming && knobs.panel_rows == 0 &&
      slices_fit(algorithm, weights, target, loops, knobs))
    return sparsert_slices(std::move(algorithm), weights, target, loops, knobs);
  return Streaming(std::move(algorithm), weights, target, loops, knobs)();
}

}  // namespace weft
