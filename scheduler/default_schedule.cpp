#include <weft/scheduler/default_schedule.h>
#include <weft/scheduler/steps/loops.h>

#include <algorithm>
#include <bit>
#include <optional>

namespace weft {
namespace {

/// What the recipe needs to know about the loops of the unscheduled program.
class Recipe {
 public:
  explicit Recipe(Schedule& schedule) : schedule_(schedule) {
    for (const std::string& name : steps::loop_names(schedule.program().body)) loops_.push_back(name);
    const Algorithm& algorithm = schedule.algorithm();
    for (const IndexVariable& index : algorithm.indices) {
      if (!index.reduction) outputs_.push_back(index);
    }
    for (const TensorAccess& factor : algorithm.factors) {
      if (algorithm.operands[factor.operand].storage != Storage::sparse) continue;
      for (const AffineIndex& index : factor.indices) rows_.push_back(*index.plain());
    }
    find_row_loops();
    scatters_ = std::any_of(loops_.begin(), loops_.end(),
                            [](const std::string& n) { return n.find(".stored") != std::string::npos; });
    for (const IndexVariable& index : outputs_) {
      if (std::find(rows_.begin(), rows_.end(), index.name) == rows_.end()) free_.push_back(index);
    }
    for (const std::string& name : loops_) {
      if (!steps::is_output_loop(name, algorithm)) sums_.push_back(name);
    }
  }

  void on_cpu() {
    if (free_.empty()) {
      if (!scatters_) schedule_.parallel(LoopName(block_loop_.empty() ? row_loop_ : block_loop_));
      return;
    }
    const IndexVariable& columns = free_.back();
    const bool dense = schedule_.weights() == nullptr || schedule_.weights()->format().name == "dense";
    const std::string operand = staged_operand(columns);
    const std::int64_t width = vector_width(columns.extent);
    schedule_.split(LoopFactor{LoopName(columns.name), width});
    std::string rows = block_loop_.empty() ? row_loop_ : block_loop_;
    std::vector<std::string> order = sums_;
    if (dense && !scatters_ && outputs_.size() == 2) {
      schedule_.split(LoopFactor{LoopName(row_loop_), register_rows});
      rows = row_loop_ + ".outer";
      order.push_back(row_loop_ + ".inner");
    }
    order.push_back(columns.name + ".inner");
    const bool panels = scatters_ || many_panels(columns.extent, width);
    const bool outside = panels || !operand.empty();
    if (outputs_.size() == 2 && !scatters_) {
      if (outside) reorder({columns.name + ".outer", rows});
      // The rows of a block read the same panel.
      if (!outside && !block_loop_.empty()) reorder({columns.name + ".outer", row_loop_});
    }
    reorder(order);
    if (rows == row_loop_ + ".outer") schedule_.unroll(LoopName(row_loop_ + ".inner"));
    schedule_.vectorize(LoopName(columns.name + ".inner"));
    if (!operand.empty()) schedule_.stage(operand, shared, at = LoopName(columns.name + ".outer"));
    schedule_.parallel(LoopName(panels ? columns.name + ".outer" : rows));
  }

  void on_gpu() {
    if (free_.empty()) {
      if (scatters_) return;
      if (block_loop_.empty()) {
        split_and_bind(row_loop_, 128, block_x, thread);
      } else {
        schedule_.bind(LoopName(block_loop_), block_x);
        schedule_.bind(LoopName(row_loop_), thread);
      }
      return;
    }
    const IndexVariable& columns = free_.back();
    if (scatters_) {
      split_and_bind(columns.name, 128, block_x, thread);
      bind_others(columns.name, {block_y, block_z});
      return;
    }
    const std::int64_t per_lane = columns.extent.is_static() && columns.extent.value <= 32 ? 1 : 2;
    schedule_.split(LoopFactor{LoopName(row_loop_), std::int64_t{4}});
    schedule_.split(LoopFactor{LoopName(columns.name), 32 * per_lane});
    schedule_.split(LoopFactor{LoopName(columns.name + ".inner"), std::int64_t{32}});
    const std::string lanes = columns.name + ".inner.inner";
    const std::string per_thread = columns.name + ".inner.outer";
    // Outermost first: what blocks share out, then warps and lanes, then the sum with its columns inside.
    std::vector<std::string> order;
    for (const IndexVariable& index : free_) {
      if (index.name != columns.name) order.push_back(index.name);
    }
    order.push_back(columns.name + ".outer");
    if (!block_loop_.empty()) order.push_back(block_loop_);
    order.insert(order.end(), {row_loop_ + ".outer", row_loop_ + ".inner", lanes});
    order.insert(order.end(), sums_.begin(), sums_.end());
    order.push_back(per_thread);
    reorder(order);
    schedule_.bind(LoopName(block_loop_.empty() ? row_loop_ + ".outer" : block_loop_), block_x);
    schedule_.bind(LoopName(columns.name + ".outer"), block_y);
    bind_others(columns.name, {block_z});
    schedule_.bind(LoopName(row_loop_ + ".inner"), warp);
    schedule_.bind(LoopName(lanes), lane);
    schedule_.unroll(LoopName(per_thread));
  }

 private:
  /// Six rows of four 512-bit vectors: 24 of the 32 vector registers.
  static constexpr std::int64_t register_rows = 6;
  static constexpr std::int64_t cache_line = 64;   ///< bytes
  static constexpr std::int64_t same_sets = 1024;  ///< bytes between rows that leave a quarter of the sets
  static constexpr std::int64_t least_reads = 8;   ///< of a row of the dense operand, on average
  static constexpr std::int64_t largest_copy = 1 << 20;  ///< bytes: half of a second cache

  /// Blocks of rows have a loop of their own around that of the rows.
  void find_row_loops() {
    std::vector<std::string> found;
    for (const std::string& name : loops_) {
      if (steps::is_output_loop(name, schedule_.algorithm()) && is_row_loop(name)) found.push_back(name);
    }
    row_loop_ = found.empty() ? loops_.front() : found.back();
    if (found.size() > 1) block_loop_ = found.front();
  }

  /// A row index, or several joined; without sparse operand the first output index.
  bool is_row_loop(const std::string& name) const {
    if (rows_.empty()) return name == outputs_.front().name;
    const std::string index = name.substr(0, name.find('.'));
    return std::any_of(rows_.begin(), rows_.end(),
                       [&](const std::string& row) { return index == row || index.starts_with(row + "_"); });
  }

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

  void reorder(const std::vector<std::string>& order) {
    Step step{"reorder", {}, SourcePlace(std::source_location::current())};
    for (const std::string& name : order) step.arguments.push_back({{}, name});
    schedule_.apply(step);
  }

  void split_and_bind(const std::string& loop, std::int64_t factor, Word outer, Word inner) {
    schedule_.split(LoopFactor{LoopName(loop), factor});
    schedule_.bind(LoopName(loop + ".outer"), outer);
    schedule_.bind(LoopName(loop + ".inner"), inner);
  }

  /// Output loops besides rows and columns, as far as axes and their limit of 65,535 blocks go.
  void bind_others(const std::string& columns, std::vector<Word> axes) {
    for (const IndexVariable& index : free_) {
      if (index.name == columns || axes.empty()) continue;
      if (index.extent.is_static() && index.extent.value > 65535) continue;
      schedule_.bind(LoopName(index.name), axes.front());
      axes.erase(axes.begin());
    }
  }

  Schedule& schedule_;
  std::vector<std::string> loops_;
  std::vector<IndexVariable> outputs_;
  std::vector<IndexVariable> free_;  ///< outputs that are no rows of the weights
  std::vector<std::string> rows_;    ///< indices of the sparse operand
  std::vector<std::string> sums_;    ///< loops of the sum, outermost first
  std::string row_loop_;
  std::string block_loop_;  ///< empty where rows are stored one by one
  bool scatters_ = false;
};

}  // namespace

Schedule default_schedule(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights,
                          const Target& target) {
  Schedule result(std::move(algorithm), std::move(weights), target);
  Recipe recipe(result);
  target.is_gpu() ? recipe.on_gpu() : recipe.on_cpu();
  return result;
}

}  // namespace weft
