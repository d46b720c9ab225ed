#include <weft/scheduler/recipes/cpu/cpu_rows.h>
#include <weft/scheduler/recipes/parts/ordered.h>
#include <weft/scheduler/recipes/parts/product.h>

#include <algorithm>
#include <utility>

namespace weft {
namespace {

const RecipeNeeds cpu_rows_needs{"cpu_rows", "csr or dense", "formats::csr()"};

bool is_taken(const Format& format) {
  return format.name == "csr" || format.name == "dense";
}

/// The steps of a point.
class RowSteps {
 public:
  RowSteps(Schedule schedule, CpuNest nest, const CpuRows& knobs)
      : schedule_(std::move(schedule)), nest_(std::move(nest)), knobs_(knobs) {}

  Schedule operator()() && {
    require_sum(schedule_);
    const LoopName vectors = loop_of_vectors(schedule_, nest_);
    columns_ = has_vectors() ? schedule_.split(vectors, knobs_.panel) : SplitLoops{vectors, {}};
    if (!nest_.lines.empty()) lines_ = schedule_.split(nest_.lines, knobs_.rows);
    sum_ = knobs_.groups > 1 ? schedule_.split(nest_.sum, knobs_.groups) : SplitLoops{nest_.sum, {}};
    std::vector<LoopName> order = loops_of(nest_.others);
    append(order, knobs_.order == CpuOrder::rows ? std::vector{rows()} : panels());
    append(order, knobs_.order == CpuOrder::rows ? panels() : std::vector{rows()});
    order.push_back(sum_.outer);
    if (knobs_.groups > 1) order.push_back(sum_.inner);
    append(order, inside());
    schedule_.reorder(order);
    if (knobs_.groups > 1) deal_entries();
    if (!nest_.lines.empty()) schedule_.unroll(lines_.inner);
    if (has_vectors()) schedule_.vectorize(columns_.inner);
    copy();
    schedule_.parallel(shared_loop());
    return std::move(schedule_);
  }

 private:
  bool has_vectors() const { return !nest_.vectors.empty() && knobs_.panel > 1; }

  /// The loop over the rows of the weights.
  LoopName rows() const { return nest_.lines == nest_.rows ? lines_.outer : LoopName(nest_.rows); }
  std::vector<LoopName> panels() const {
    std::vector<LoopName> loops;
    if (!nest_.lines.empty() && nest_.lines != nest_.rows) loops.push_back(lines_.outer);
    if (!nest_.vectors.empty()) loops.push_back(columns_.outer);
    return loops;
  }
  /// What stands inside the sum.
  std::vector<LoopName> inside() const {
    std::vector<LoopName> loops;
    if (!nest_.lines.empty()) loops.push_back(lines_.inner);
    if (has_vectors()) loops.push_back(columns_.inner);
    return loops;
  }

  void deal_entries() {
    const LoopName groups = schedule_.split_k(sum_.inner, knobs_.groups);
    std::vector<LoopName> order{sum_.outer, groups, sum_.inner};
    append(order, inside());
    schedule_.reorder(order);
    if (has_vectors() || knobs_.groups < least_gathered)
      schedule_.unroll(groups);
    else
      schedule_.vectorize(groups);
  }

  void copy() {
    if (knobs_.copy == CpuCopy::none) return;
    const LoopName place = knobs_.copy == CpuCopy::image ? LoopName(nest_.others.back()) : panels().back();
    schedule_.stage(nest_.dense, shared, at = place);
  }

  /// Of those around the panels the one with the most iterations.
  LoopName shared_loop() const {
    if (knobs_.threads == CpuThreads::rows) return rows();
    const Algorithm& algorithm = schedule_.algorithm();
    LoopName longest = columns_.outer;
    std::int64_t most = nest_.width == 0 ? INT64_MAX : ceil_divide(nest_.width, knobs_.panel);
    if (const std::int64_t lines = nest_.height / knobs_.rows;
        nest_.lines != nest_.rows && !nest_.lines.empty() && lines > most)
      std::tie(longest, most) = std::pair(lines_.outer, lines);
    for (const std::string& other : nest_.others) {
      const Extent extent = extent_of(algorithm, other);
      if (extent.is_static() && extent.value > most)
        std::tie(longest, most) = std::pair(LoopName(other), extent.value);
    }
    return longest;
  }

  static std::vector<LoopName> loops_of(const std::vector<std::string>& names) {
    return {names.begin(), names.end()};
  }
  static void append(std::vector<LoopName>& loops, const std::vector<LoopName>& more) {
    loops.insert(loops.end(), more.begin(), more.end());
  }

  Schedule schedule_;
  CpuNest nest_;
  CpuRows knobs_;
  SplitLoops columns_, lines_, sum_;  ///< `inner` is empty where the loop is not split
};

void refuse(const Algorithm& algorithm, const char* found, const char* accepted) {
  throw UserError("knobs of cpu_rows exclude one another", algorithm.text(), found, accepted);
}

void refuse_knob(const Algorithm& algorithm, const char* found, const char* accepted) {
  throw UserError("a knob of cpu_rows does not fit the algorithm", algorithm.text(), found, accepted);
}

void require_together(const CpuRows& knobs, const CpuNest& nest, const Algorithm& algorithm) {
  const bool by_rows = knobs.order == CpuOrder::rows;
  if (knobs.copy == CpuCopy::panel && (by_rows || nest.vectors.empty()))
    refuse(algorithm, "copy = panel, which every row would make again", "order = panels");
  if (knobs.copy == CpuCopy::image && nest.others.empty())
    refuse_knob(algorithm, "copy = image, where no loop goes over images", "copy = panel or none");
  if (knobs.threads == CpuThreads::panels && (by_rows || nest.vectors.empty()))
    refuse(algorithm, "threads = panels, which stand inside of rows", "order = panels, or threads = rows");
  if (knobs.rows > 1 && nest.lines.empty())
    refuse_knob(algorithm, "rows beyond 1", "a convolution, or weights in dense");
}

Schedule schedule_with(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                       const CpuRows& knobs) {
  require_format(cpu_rows_needs, algorithm, weights.get(), is_taken);
  const std::string given = require_in_range(cpu_rows_needs.name, cpu_rows_knobs(), knobs);
  if (target.is_gpu()) refuse_recipe(cpu_rows_needs, algorithm, "the target " + target.name, "cpu");
  const Algorithm seen = in_kernel_order(algorithm);
  CpuNest nest = cpu_nest(seen, weights->format(), target);
  if (nest.rows.empty())
    refuse_recipe(cpu_rows_needs, algorithm, "no rows of the weights by which the results go",
                  "a product or a convolution, or default_schedule(algorithm, weights, target)");
  const CpuRows chosen = chosen_for(knobs, nest, seen, entries_of_row(*weights), target);
  require_together(chosen, nest, seen);
  return with_recipe_named(cpu_rows_needs.name, given, [&] {
    return RowSteps(ordered_schedule(std::move(algorithm), std::move(weights), target), std::move(nest),
                    chosen)();
  });
}

}  // namespace

Schedule cpu_rows(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                  const CpuRows& knobs, CallPlace place) {
  return made_with_knobs(place, cpu_rows_knobs(), knobs, [&](const CpuRows& each) {
    return schedule_with(algorithm, weights, target, each);
  });
}

}  // namespace weft
