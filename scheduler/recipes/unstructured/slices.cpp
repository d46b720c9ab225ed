#include <weft/scheduler/hardware/device.h>
#include <weft/scheduler/recipes/parts/ordered.h>
#include <weft/scheduler/recipes/unstructured/order.h>
#include <weft/scheduler/recipes/unstructured/slices.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <vector>

namespace weft {
namespace {

using recipe_knobs::lanes_of_warp, recipe_knobs::most_warps;
constexpr std::int64_t bytes_of_line = 128;
constexpr std::int64_t vector_columns = 4;  ///< 16 bytes of B
constexpr std::int64_t usual_lanes = 4, usual_columns = 8, usual_places = 4;
constexpr std::int64_t fewer_warps = 16, most_parts = 16;
constexpr std::int64_t most_panels = 4'096;  ///< more are shared out as these are

// In entries that a processor reads meanwhile; measured on an H200 (docs/measurements.md).
constexpr double of_copied_row = 1.75;   ///< a row of B
constexpr double of_each_block = 1'000;  ///< a block begins and ends
constexpr double of_turn = 1'600;        ///< the warps of a block take up their next slices
constexpr double hidden = 0.5;           ///< a share of a copy, beside another block that computes
constexpr double hidden_turn = 0.3;      ///< a share of a turn, likewise
constexpr double of_fewer_warps = 1.25;  ///< an entry, where a processor has no more

/// The columns of a block, of which each row has all, and the rows of B that it copies.
struct Panel {
  std::int64_t lanes, columns;
  std::int64_t rows;
  std::int64_t bytes_of_element = 0;

  Panel(const Algorithm& algorithm, const SparseTensor& weights, const ProductLoops& loops,
        const SparseRtKnobs& knobs)
      : lanes(knobs.lanes > 0 ? knobs.lanes : usual_lanes),
        columns(knobs.columns > 0 ? knobs.columns : usual_columns),
        rows(weights.columns() + 1) {  // One of zeros for the padding.
    for (const Operand& operand : algorithm.operands) {
      if (operand.name == loops.dense) bytes_of_element = static_cast<std::int64_t>(size_of(operand.dtype));
    }
  }
  std::int64_t width() const { return lanes * columns; }
  std::int64_t bytes() const { return rows * width() * bytes_of_element; }
  std::int64_t rows_of_warp() const { return lanes_of_warp / lanes; }
};

/// Slices of warps, warps of blocks.
struct SliceCut {
  std::int64_t warps = 1, turns = 1;
};

class SliceCuts {
 public:
  SliceCuts(const SparseTensor& weights, const Panel& panel, std::int64_t panels, const Target& target)
      : copy_(of_copied_row * static_cast<double>(panel.rows)),
        long_sums_(panel.bytes_of_element > 4),
        two_fit_(2 * panel.bytes() <= target.shared_bytes_per_block),
        panels_(std::min(panels, most_panels)) {
    std::vector<std::int64_t> lengths = entries_of_rows(weights);
    std::ranges::sort(lengths, std::greater<>());
    const auto rows = static_cast<std::size_t>(panel.rows_of_warp());
    for (std::size_t first = 0; first < lengths.size(); first += rows)
      entries_.push_back(static_cast<double>(lengths[first]) * static_cast<double>(rows));
  }

  SliceCut fastest(const SparseRtKnobs& knobs) const {
    SliceCut best;
    double least = std::numeric_limits<double>::infinity();
    for (const std::int64_t tried : {most_warps, fewer_warps}) {
      if (tried > fewer_warps && long_sums_) continue;  // Registers of so many threads do not hold them.
      SliceCut cut;
      cut.warps = knobs.threads > 0 ? std::max<std::int64_t>(1, knobs.threads / lanes_of_warp) : tried;
      for (std::int64_t parts = 1; parts <= most_parts; ++parts) {
        const std::int64_t warps = cut.warps * (knobs.parts > 0 ? knobs.parts : parts);
        cut.turns =
            knobs.rows > 0 ? knobs.rows : std::max<std::int64_t>(1, ceil_divide(std::ssize(entries_), warps));
        const double all = duration(cut);
        if (all >= least) continue;
        least = all;
        best = cut;
      }
    }
    return best;
  }

 private:
  /// Until the last processor is ready: blocks of the longest slices begin first where a warp has one, and
  /// are all alike where slices are dealt to warps.
  double duration(const SliceCut& cut) const {
    const auto slices = static_cast<std::size_t>(cut.warps * cut.turns);
    const double all = std::accumulate(entries_.begin(), entries_.end(), 0.0);
    std::priority_queue<double, std::vector<double>, std::greater<>> ready(
        std::greater<>(), std::vector<double>(static_cast<std::size_t>(measured_processors), 0.0));
    const bool few = cut.warps <= fewer_warps;
    double last = 0;
    for (std::size_t first = 0; first < entries_.size(); first += slices) {
      const std::size_t end = std::min(first + slices, entries_.size());
      const double share = static_cast<double>(end - first) / static_cast<double>(entries_.size());
      double work = all * share;
      if (cut.turns == 1) work = std::accumulate(&entries_[first], &entries_[first] + (end - first), 0.0);
      if (few && !two_fit_) work *= of_fewer_warps;
      work +=
          of_each_block + of_turn * (few && two_fit_ ? hidden_turn : 1) * static_cast<double>(cut.turns - 1);
      for (std::int64_t panel = 0; panel < panels_; ++panel) {
        const double start = ready.top();
        const bool beside_another = few && two_fit_ && start > 0;
        last = std::max(last, start + work + copy_ * (beside_another ? hidden : 1));
        ready.pop();
        ready.push(start + work + copy_ * (beside_another ? hidden : 1));
      }
    }
    return last;
  }

  double copy_;
  bool long_sums_, two_fit_;
  std::int64_t panels_;
  std::vector<double> entries_;  ///< entries of slices with their padding, the longest first
};

class Slicing {
 public:
  Slicing(const Algorithm& algorithm, const SparseTensor& weights, const Target& target,
          const ProductLoops& loops, const SparseRtKnobs& knobs)
      : loops_(loops),
        panel_(algorithm, weights, loops, knobs),
        vector_(panel_.columns % vector_columns == 0 ? vector_columns : 1),
        cut_(SliceCuts(weights, panel_, panels_of(extent_of(algorithm, loops.columns)), target)
                 .fastest(knobs)),
        schedule_(ordered_schedule(algorithm, packed(weights, knobs), target)) {}

  Schedule operator()() {
    const WeightLoops of_weights = weight_loops(schedule_);
    const LoopName &slices = of_weights.rows.at(0), &row = of_weights.rows.at(1);
    const LoopName &chunk = of_weights.sum.at(0), &place = of_weights.sum.at(1);
    const auto [of_slices, of_columns] =
        schedule_.split(slices, cut_.turns * cut_.warps, loops_.columns, panel_.width());
    const auto& [row_blocks, of_block] = of_slices;
    const auto& [column_blocks, of_panel] = of_columns;
    const auto [of_warps, of_lanes] = schedule_.split(of_block, cut_.turns, of_panel, panel_.lanes * vector_);
    const auto& [warps, turn] = of_warps;
    const auto& [vectors, of_vectors] = of_lanes;
    const auto [lanes, column] = schedule_.split(of_vectors, vector_);
    schedule_.reorder(column_blocks, row_blocks, warps, row, lanes, turn, chunk, place, vectors, column)
        .bind(column_blocks, block_x)
        .bind(row_blocks, block_y)
        .stage(loops_.dense, shared, at = row_blocks)
        .bind(warps, warp)
        .bind(row, lane)
        .bind(lanes, lane)
        .unroll(place)
        .unroll(vectors);
    if (vector_ > 1) schedule_.vectorize(column);
    if (reads_parts_of_lines()) schedule_.stagger(vectors, row);
    return std::move(schedule_);
  }

 private:
  std::int64_t panels_of(const Extent& extent) const {
    return extent.is_static() ? ceil_divide(extent.value, panel_.width()) : measured_processors;
  }

  std::shared_ptr<const SparseTensor> packed(const SparseTensor& weights, const SparseRtKnobs& knobs) const {
    return std::make_shared<const SparseTensor>(repack(
        weights, formats::sliced_ell({.slice = panel_.rows_of_warp(),
                                      .pad = knobs.places > 0 ? knobs.places : usual_places,
                                      .deal = cut_.turns,
                                      .index = weights.columns() <= formats::columns_of_16_bits ? 16 : 32})));
  }

  /// Rows beside each other would ask the same banks.
  bool reads_parts_of_lines() const {
    const std::int64_t vectors = panel_.columns / vector_;
    return panel_.rows_of_warp() > 1 && panel_.lanes * vector_ * panel_.bytes_of_element < bytes_of_line &&
           vectors > 1 && std::has_single_bit(static_cast<std::uint64_t>(vectors));
  }

  ProductLoops loops_;
  Panel panel_;
  std::int64_t vector_;  ///< columns of a lane beside each other
  SliceCut cut_;
  Schedule schedule_;
};

}  // namespace

bool slices_fit(const Algorithm& algorithm, const SparseTensor& weights, const Target& target,
                const ProductLoops& loops, const SparseRtKnobs& knobs) {
  return Panel(algorithm, weights, loops, knobs).bytes() <= target.shared_bytes_per_block;
}

Schedule sparsert_slices(Algorithm algorithm, const SparseTensor& weights, const Target& target,
                         const ProductLoops& loops, const SparseRtKnobs& knobs) {
  return Slicing(algorithm, weights, target, loops, knobs)();
}

}  // namespace weft
