#include <weft/scheduler/recipes/cpu/cpu_groups.h>
#include <weft/scheduler/recipes/parts/ordered.h>
#include <weft/scheduler/recipes/parts/product.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace weft {
namespace {

const RecipeNeeds cpu_groups_needs{"cpu_groups", "column_vectors", "formats::column_vectors()"};

/// The steps of a point.
class GroupSteps {
 public:
  GroupSteps(Schedule schedule, const CpuNest& nest, const CpuGroups& knobs)
      : schedule_(std::move(schedule)), nest_(nest), knobs_(knobs) {}

  Schedule operator()() && {
    const WeightLoops loops = weight_loops(schedule_);
    const LoopName groups = loops.rows.front(), rows = loops.rows.back(), sum = loops.sum.back();
    const SplitLoops columns = schedule_.split(loop_of_vectors(schedule_, nest_), knobs_.panel);
    std::vector<LoopName> order(nest_.others.begin(), nest_.others.end()), inside{rows};
    if (has_lines(nest_)) {
      const SplitLoops lines = schedule_.split(LoopName(nest_.lines), knobs_.lines);
      order.push_back(lines.outer);
      inside.push_back(lines.inner);
    }
    order.insert(order.end(), {columns.outer, groups, sum});
    order.insert(order.end(), inside.begin(), inside.end());
    order.push_back(columns.inner);
    schedule_.reorder(order);
    for (const LoopName& loop : inside) schedule_.unroll(loop);
    schedule_.vectorize(columns.inner);
    if (knobs_.copy != CpuCopy::none)
      schedule_.stage(nest_.dense, shared,
                      at = knobs_.copy == CpuCopy::image ? LoopName(nest_.others.back()) : columns.outer);
    schedule_.parallel(knobs_.threads == CpuThreads::rows ? groups : order.front());
    return std::move(schedule_);
  }

 private:
  Schedule schedule_;
  const CpuNest& nest_;
  CpuGroups knobs_;
};

Schedule schedule_with(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                       const CpuGroups& knobs) {
  require_format(cpu_groups_needs, algorithm, weights.get(),
                 [](const Format& format) { return format.name == "column_vectors"; });
  const std::string given = require_in_range(cpu_groups_needs.name, cpu_groups_knobs(), knobs);
  const Algorithm seen = in_kernel_order(algorithm);
  if (std::string reason = why_no_cpu_groups(seen, weights->format(), target); !reason.empty())
    refuse_recipe(cpu_groups_needs, algorithm, std::move(reason),
                  "a product or a convolution of several columns or pixels, on a CPU; else "
                  "default_schedule(algorithm, weights, target)");
  const CpuNest nest = cpu_nest(seen, formats::csr(), target);
  if (!has_lines(nest))
    IdleKnobs(algorithm.text(), "columns of a product")
        .refuse(knobs.lines > 1 ? knobs.lines : 0, "lines", "panel in its place, or a convolution");
  if (knobs.copy == CpuCopy::image && nest.others.empty())
    throw UserError("a knob of cpu_groups does not fit the algorithm", algorithm.text(),
                    "copy = image, where no loop goes over images", "copy = panel or none");
  const CpuGroups chosen = chosen_for(knobs, nest, seen, rows_of_vectors(weights->format()),
                                      static_cast<double>(weights->array("values").size()), target);
  return with_recipe_named(cpu_groups_needs.name, given, [&] {
    return GroupSteps(ordered_schedule(std::move(algorithm), std::move(weights), target), nest, chosen)();
  });
}

}  // namespace

std::int64_t most_sums_of_group(const Target& target) {
  constexpr std::int64_t of_many = 24, of_sixteen = 12, widest = 64;
  return target.vector_bytes >= widest ? of_many : of_sixteen;
}

std::int64_t rows_of_vectors(const Format& format) {
  constexpr std::int64_t usual = 8;
  return parameter_of(format, "V", usual);
}

std::string why_no_cpu_groups(const Algorithm& algorithm, const Format& format, const Target& target) {
  if (target.is_gpu()) return target.name + " is no CPU";
  if (format.name != "column_vectors") return format.text() + " is not column_vectors";
  const CpuNest nest = cpu_nest(algorithm, formats::csr(), target);
  if (nest.rows.empty()) return "the results do not go by rows of the weights";
  if (nest.vectors.empty() || nest.width == 1) return "one column, of which a value is read once anyway";
  return why_no_sum(algorithm);
}

CpuGroups chosen_for(const CpuGroups& knobs, const CpuNest& nest, const Algorithm& algorithm,
                     std::int64_t rows, double stored, const Target& target) {
  constexpr std::int64_t most_vectors = 4, shared_panels = 4;
  const std::int64_t lanes = cpu_lanes(algorithm, target);
  CpuGroups chosen = knobs;
  if (chosen.panel == 0) {
    const auto vectors = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(
        std::clamp<std::int64_t>(most_sums_of_group(target) / rows, 1, most_vectors))));
    chosen.panel = panel_of(nest.width, vectors * lanes);
  }
  const std::int64_t width = nest.width == 0 ? chosen.panel : std::min(nest.width, chosen.panel);
  if (chosen.lines == 0)
    chosen.lines = has_lines(nest) ? std::clamp<std::int64_t>(
                                         most_sums_of_group(target) / (rows * ceil_divide(width, lanes)), 1,
                                         std::max<std::int64_t>(1, nest.height))
                                   : 1;
  if (chosen.copy == CpuCopy::chosen) {
    const bool worth = nest.windows || nest.scattered ||
                       is_hard_to_read(algorithm, nest, stored / static_cast<double>(rows));
    chosen.copy = worth ? CpuCopy::panel : CpuCopy::none;
  }
  if (chosen.threads == CpuThreads::chosen) {
    const std::int64_t panels = times_of_others(algorithm, nest) * ceil_divide(nest.width, chosen.panel) *
                                (has_lines(nest) ? ceil_divide(nest.height, chosen.lines) : 1);
    chosen.threads = panels >= shared_panels ? CpuThreads::panels : CpuThreads::rows;
  }
  return chosen;
}

Schedule cpu_groups(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                    const CpuGroups& knobs, CallPlace place) {
  return made_with_knobs(place, cpu_groups_knobs(), knobs, [&](const CpuGroups& each) {
    return schedule_with(algorithm, weights, target, each);
  });
}

}  // namespace weft
