#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/recipes/cpu/cpu_rows.h>
#include <weft/scheduler/recipes/parts/product.h>

#include <algorithm>
#include <utility>

namespace weft {
namespace {

const RecipeNeeds needs{"cpu_rows", "csr or dense", "formats::csr()"};

bool is_taken(const Format& format) {
  return format.name == "csr" || format.name == "dense";
}

/// Groups of one column that are a vector of entries; fewer are written out.
constexpr std::int64_t least_gathered = 8;

/// The steps of a point.
class Steps {
 public:
  Steps(Schedule schedule, CpuNest nest, const CpuRows& knobs)
      : schedule_(std::move(schedule)), nest_(std::move(nest)), knobs_(knobs) {}

  Schedule operator()() && {
    if (!nest_.fused.empty()) step("fuse", nest_.fused);
    if (has_vectors()) split(nest_.vectors, knobs_.panel);
    if (!nest_.lines.empty()) split(nest_.lines, knobs_.rows);
    if (knobs_.groups > 1) split(nest_.sum, knobs_.groups);
    std::vector<std::string> order = nest_.others;
    append(order, knobs_.order == CpuOrder::rows ? std::vector{rows()} : panels());
    append(order, knobs_.order == CpuOrder::rows ? panels() : std::vector{rows()});
    const std::vector<std::string> sums =
        knobs_.groups > 1 ? std::vector{nest_.sum + ".outer", nest_.sum + ".inner"} : std::vector{nest_.sum};
    append(order, sums);
    append(order, inside());
    step("reorder", order);
    if (knobs_.groups > 1) deal_entries();
    if (!nest_.lines.empty()) step("unroll", {nest_.lines + ".inner"});
    if (has_vectors()) step("vectorize", {nest_.vectors + ".inner"});
    copy();
    step("parallel", {shared_loop()});
    return std::move(schedule_);
  }

 private:
  bool has_vectors() const { return !nest_.vectors.empty() && knobs_.panel > 1; }

  /// The loop over the rows of the weights.
  std::string rows() const { return nest_.rows + (nest_.lines == nest_.rows ? ".outer" : ""); }
  std::string columns() const { return nest_.vectors + (has_vectors() ? ".outer" : ""); }
  std::vector<std::string> panels() const {
    std::vector<std::string> loops;
    if (!nest_.lines.empty() && nest_.lines != nest_.rows) loops.push_back(nest_.lines + ".outer");
    if (!nest_.vectors.empty()) loops.push_back(columns());
    return loops;
  }
  /// What stands inside the sum.
  std::vector<std::string> inside() const {
    std::vector<std::string> loops;
    if (!nest_.lines.empty()) loops.push_back(nest_.lines + ".inner");
    if (has_vectors()) loops.push_back(nest_.vectors + ".inner");
    return loops;
  }

  void deal_entries() {
    const std::string entries = nest_.sum + ".inner", groups = entries + ".group";
    Step deal{"split_k", {{{}, entries}, {"groups", knobs_.groups}}, {}};
    schedule_.apply(deal);
    std::vector<std::string> order{nest_.sum + ".outer", groups, entries};
    append(order, inside());
    step("reorder", order);
    step(has_vectors() || knobs_.groups < least_gathered ? "unroll" : "vectorize", {groups});
  }

  void copy() {
    if (knobs_.copy == CpuCopy::none) return;
    const std::string place = knobs_.copy == CpuCopy::image ? nest_.others.back() : panels().back();
    schedule_.apply({"stage", {{{}, nest_.dense}, {{}, "shared"}, {"at", place}}, {}});
  }

  /// Of those around the panels the one with the most iterations.
  std::string shared_loop() const {
    if (knobs_.threads == CpuThreads::rows) return rows();
    const Algorithm& algorithm = schedule_.algorithm();
    std::string longest = columns();
    std::int64_t most = nest_.width == 0 ? INT64_MAX : ceil_divide(nest_.width, knobs_.panel);
    if (const std::int64_t lines = nest_.height / knobs_.rows;
        nest_.lines != nest_.rows && !nest_.lines.empty() && lines > most)
      std::tie(longest, most) = std::pair(nest_.lines + ".outer", lines);
    for (const std::string& other : nest_.others) {
      const Extent extent = extent_of(algorithm, other);
      if (extent.is_static() && extent.value > most) std::tie(longest, most) = std::pair(other, extent.value);
    }
    return longest;
  }

  static void append(std::vector<std::string>& loops, const std::vector<std::string>& more) {
    loops.insert(loops.end(), more.begin(), more.end());
  }
  void step(const std::string& name, const std::vector<std::string>& words) {
    Step step{name, {}, {}};
    for (const std::string& word : words) step.arguments.push_back({{}, word});
    schedule_.apply(step);
  }
  void split(const std::string& loop, std::int64_t factor) {
    schedule_.apply({"split", {{loop, factor}}, {}});
  }

  Schedule schedule_;
  CpuNest nest_;
  CpuRows knobs_;
};

void refuse(const Algorithm& algorithm, const char* found, const char* accepted) {
  throw UserError({"knobs of cpu_rows exclude one another", algorithm.text(), found, accepted});
}

void require_together(const CpuRows& knobs, const CpuNest& nest, const Algorithm& algorithm) {
  const bool by_rows = knobs.order == CpuOrder::rows;
  if (knobs.copy == CpuCopy::panel && (by_rows || nest.vectors.empty()))
    refuse(algorithm, "copy = panel, which every row would make again", "order = panels");
  if (knobs.copy == CpuCopy::image && nest.others.empty())
    refuse(algorithm, "copy = image, where no loop goes over images", "copy = panel or none");
  if (knobs.threads == CpuThreads::panels && (by_rows || nest.vectors.empty()))
    refuse(algorithm, "threads = panels, which stand inside of rows", "order = panels, or threads = rows");
  if (knobs.rows > 1 && nest.lines.empty())
    refuse(algorithm, "rows beyond 1", "a convolution, or weights in dense");
}

}  // namespace

Schedule cpu_rows(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                  const CpuRows& knobs, std::source_location place) {
  return user_call(place, [&] {
    require_format(needs, algorithm, weights.get(), is_taken);
    const std::string given = require_in_range(needs.name, cpu_rows_knobs(), knobs);
    if (target.is_gpu()) refuse_recipe(needs, algorithm, "the target " + target.name, "cpu");
    CpuNest nest = cpu_nest(algorithm, weights->format());
    if (nest.rows.empty())
      refuse_recipe(needs, algorithm, "no rows of the weights by which the results go",
                    "a product or a convolution, or default_schedule(algorithm, weights, target)");
    const CpuRows chosen = chosen_for(knobs, nest, algorithm, entries_of_row(*weights));
    require_together(chosen, nest, algorithm);
    return with_recipe_named(needs.name, given, [&] {
      return Steps(Schedule(std::move(algorithm), std::move(weights), target), std::move(nest), chosen)();
    });
  });
}

}  // namespace weft
