#include <fmt/format.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/program/build_program.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>

#include <algorithm>
#include <bit>
#include <optional>

namespace weft {
namespace {

/// The steps for a program by what its loops are for.
class Rows {
 public:
  explicit Rows(Schedule schedule) : schedule_(std::move(schedule)) {
    const Stmt& body = schedule_.program().body;
    const std::vector<std::string> loops = ir::loop_names(body);
    const Algorithm& algorithm = schedule_.algorithm();
    for (const IndexVariable& index : algorithm.indices) {
      if (!index.reduction) outputs_.push_back(index);
    }
    for (const TensorAccess& factor : algorithm.factors) {
      if (algorithm.operands[factor.operand].storage != Storage::sparse) continue;
      for (const AffineIndex& index : factor.indices) rows_.push_back(*index.plain());
    }
    if (!outputs_.empty()) find_row_loops(loops);
    scatters_ =
        ir::any<ir::For>(body, [](const ir::For& loop) { return loop.role == ir::LoopRole::stored_rows; });
    for (const IndexVariable& index : outputs_) {
      if (std::ranges::find(rows_, index.name) == rows_.end()) free_.push_back(index);
    }
    for (const std::string& name : loops) {
      if (!ir::is_over_output(ir::role_of(body, name))) sums_.emplace_back(name);
    }
  }

  Schedule operator()() && {
    if (!outputs_.empty()) schedule_.target().is_gpu() ? on_gpu() : on_cpu();
    return std::move(schedule_);
  }

 private:
  void on_cpu() {
    if (free_.empty()) {
      if (!scatters_) schedule_.parallel(outermost_rows());
      return;
    }
    const IndexVariable& columns = free_.back();
    const std::int64_t width = vector_width(columns.extent);
    if (columns.name == row_loop_) return one_loop_on_cpu(width);
    const bool dense = schedule_.weights() == nullptr || schedule_.weights()->format().name == "dense";
    const std::string operand = staged_operand(columns);
    const SplitLoops panel = schedule_.split(columns.name, width);
    LoopName rows = outermost_rows();
    std::optional<LoopName> unrolled;
    if (dense && !scatters_ && outputs_.size() == 2) {
      const SplitLoops made = schedule_.split(row_loop_, register_rows);
      rows = made.outer;
      unrolled = made.inner;
    }
    const bool panels = scatters_ || many_panels(columns.extent, width);
    const bool outside = panels || !operand.empty();
    if (outputs_.size() == 2 && !scatters_) {
      if (outside) schedule_.reorder(panel.outer, rows);
      // The rows of a block read the same panel.
      if (!outside && block_loop_) schedule_.reorder(panel.outer, row_loop_);
    }
    std::vector<LoopName> order = sums_;
    if (unrolled) order.push_back(*unrolled);
    order.push_back(panel.inner);
    schedule_.reorder(order);
    if (unrolled) schedule_.unroll(*unrolled);
    schedule_.vectorize(panel.inner);
    if (!operand.empty()) schedule_.stage(operand, shared, at = panel.outer);
    schedule_.parallel(panels ? panel.outer : rows);
  }

  /// The only output index is that of the rows.
  void one_loop_on_cpu(std::int64_t width) {
    const SplitLoops rows = schedule_.split(row_loop_, width);
    std::vector<LoopName> order = sums_;
    order.push_back(rows.inner);
    schedule_.reorder(order).vectorize(rows.inner).parallel(rows.outer);
  }

  void on_gpu() {
    if (free_.empty()) {
      if (scatters_) return;
      if (!block_loop_) return split_and_bind(row_loop_, block_x);
      schedule_.bind(*block_loop_, block_x).bind(row_loop_, thread);
      return;
    }
    const IndexVariable& columns = free_.back();
    if (scatters_ || columns.name == row_loop_) {
      split_and_bind(columns.name, block_x);
      bind_others(columns.name, {block_y, block_z});
      return;
    }
    const std::int64_t per_lane = columns.extent.is_static() && columns.extent.value <= 32 ? 1 : 2;
    const SplitLoops rows = schedule_.split(row_loop_, 4);
    const SplitLoops tiles = schedule_.split(columns.name, 32 * per_lane);
    const auto [per_thread, lanes] = schedule_.split(tiles.inner, 32);
    // Outermost first: what blocks share out, then warps and lanes, then the sum with its columns inside.
    std::vector<LoopName> order;
    for (const IndexVariable& index : free_) {
      if (index.name != columns.name) order.emplace_back(index.name);
    }
    order.push_back(tiles.outer);
    if (block_loop_) order.push_back(*block_loop_);
    order.insert(order.end(), {rows.outer, rows.inner, lanes});
    order.insert(order.end(), sums_.begin(), sums_.end());
    order.push_back(per_thread);
    schedule_.reorder(order);
    // Along x a grid may be longer than along y.
    const bool wide = columns.extent.is_static() && columns.extent.value > largest_grid_y * 32 * per_lane;
    schedule_.bind(block_loop_.value_or(rows.outer), wide ? block_y : block_x);
    schedule_.bind(tiles.outer, wide ? block_x : block_y);
    bind_others(columns.name, {block_z});
    schedule_.bind(rows.inner, warp).bind(lanes, lane).unroll(per_thread);
  }

  /// Six rows of four 512-bit vectors: 24 of the 32 vector registers.
  static constexpr std::int64_t register_rows = 6;
  static constexpr std::int64_t cache_line = 64;   ///< bytes
  static constexpr std::int64_t same_sets = 1024;  ///< bytes between rows that leave a quarter of the sets
  static constexpr std::int64_t least_reads = 8;  ///< a row of the dense operand is read so often, on average
  static constexpr std::int64_t largest_copy = 1 << 20;  ///< bytes: half of a second cache

  /// Blocks of rows have a loop of their own around that of the rows; without a sparse operand, the first
  /// index of the output is that of the rows.
  void find_row_loops(const std::vector<std::string>& loops) {
    std::vector<std::string> found;
    for (const std::string& name : loops) {
      const bool rows = rows_.empty() ? name == outputs_.front().name
                                      : ir::role_of(schedule_.program().body, name) == ir::LoopRole::rows;
      if (rows) found.push_back(name);
    }
    row_loop_ = found.empty() ? loops.front() : found.back();
    if (found.size() > 1) block_loop_ = found.front();
  }
  LoopName outermost_rows() const { return block_loop_.value_or(row_loop_); }

  /// Four vectors of the widest kind: enough to pay for reading a value and its column, few enough for the
  /// panel of the dense operand to stay in the first cache. Fewer columns get as many vectors as they fill.
  std::int64_t vector_width(const Extent& columns) const {
    const std::int64_t vector = schedule_.algorithm().accumulator == DType::f64 ? 8 : 16;
    if (!columns.is_static() || columns.value > 4 * vector) return 4 * vector;
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(columns.value)));
  }

  /// The dense operand where a copy of its panel, aligned and without gaps, is worth its cost: its rows begin
  /// anywhere in a cache line, or a power of two apart, where few sets of the cache hold them; and the
  /// weights read each of them often. Else nothing.
  std::string staged_operand(const IndexVariable& columns) const {
    const Algorithm& algorithm = schedule_.algorithm();
    if (schedule_.weights() == nullptr || scatters_ || outputs_.size() != 2 || algorithm.factors.size() != 2)
      return {};
    for (const TensorAccess& factor : algorithm.factors) {
      const Operand& operand = algorithm.operands[factor.operand];
      if (operand.storage == Storage::sparse) continue;
      const std::string* last = factor.indices.size() == 2 ? factor.indices[1].plain() : nullptr;
      if (last == nullptr || *last != columns.name || !columns.extent.is_static() ||
          !operand.shape[0].is_static())
        return {};
      const auto size = static_cast<std::int64_t>(size_of(operand.dtype));
      const std::int64_t row =
          (operand.strides.empty() ? columns.extent.value : operand.strides.front()) * size;
      const std::int64_t rows = operand.shape[0].value;
      const std::int64_t panel = vector_width(columns.extent) * size;
      const bool lines_cross = panel >= cache_line && row % cache_line != 0;
      const bool hard_to_read = lines_cross || (row > panel && row % same_sets == 0);
      const bool read_often = schedule_.weights()->array("values").size() >= least_reads * rows;
      if (hard_to_read && read_often && rows * panel <= largest_copy) return operand.name;
    }
    return {};
  }

  static bool many_panels(const Extent& columns, std::int64_t width) {
    return columns.is_static() && columns.value / width >= 7;
  }

  void split_and_bind(const LoopName& loop, Word outer) {
    const SplitLoops made = schedule_.split(loop, 128);
    schedule_.bind(made.outer, outer).bind(made.inner, thread);
  }

  static constexpr std::int64_t largest_grid_y = 65'535;  ///< blocks, along z too

  /// Output loops besides rows and columns, as far as axes and their limits go.
  void bind_others(const std::string& columns, std::vector<Word> axes) {
    for (const IndexVariable& index : free_) {
      if (index.name == columns || axes.empty()) continue;
      if (index.extent.is_static() && index.extent.value > largest_grid_y) continue;
      schedule_.bind(index.name, axes.front());
      axes.erase(axes.begin());
    }
  }

  Schedule schedule_;
  std::vector<IndexVariable> outputs_;
  std::vector<IndexVariable> free_;  ///< outputs that are no rows of the weights
  std::vector<std::string> rows_;    ///< indices of the sparse operand
  std::vector<LoopName> sums_;       ///< loops of the sum, outermost first
  std::string row_loop_;
  std::optional<LoopName> block_loop_;  ///< nothing where rows are stored one by one
  bool scatters_ = false;
};

Schedule by_rows(Schedule schedule) {
  return Rows(std::move(schedule))();
}

/// A program of another form than the recipe is made for, as one in which nothing is summed: the loop that
/// stands around it, shared out.
Schedule shared_out(Schedule schedule) {
  const auto* loop = schedule.program().body.as<ir::For>();
  if (loop == nullptr) return schedule;
  const LoopName outermost = loop->name;
  return schedule.target().is_gpu() ? schedule.bind(outermost, block_x) : schedule.parallel(outermost);
}

}  // namespace

Schedule default_schedule(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights,
                          const Target& target, CallPlace place) {
  return user_call(place, [&] {
    const Schedule plain(std::move(algorithm), std::move(weights), target);
    for (Schedule (*scheduled)(Schedule) : {by_rows, shared_out}) {
      try {
        return scheduled(plain);
      } catch (const UserError&) {
        continue;  // one of the steps does not apply
      }
    }
    return plain;
  });
}

Schedule left_to_default(const RecipeNeeds& needs, Algorithm algorithm,
                         std::shared_ptr<const SparseTensor> weights, const Target& target,
                         std::string_view given) {
  if (!given.empty())
    throw UserError(fmt::format("knobs of {} would have no effect", needs.name), algorithm.text(),
                    fmt::format("{} for {}, which gets its default schedule", given, target.name),
                    "no knobs, or a GPU that the recipe is for, such as sm_90a");
  return default_schedule(std::move(algorithm), std::move(weights), target);
}

}  // namespace weft
