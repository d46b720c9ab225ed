#include <weft/scheduler/recipes/cpu/cpu_blocks.h>
#include <weft/scheduler/recipes/parts/ordered.h>
#include <weft/scheduler/recipes/parts/product.h>

#include <utility>

namespace weft {
namespace {

const RecipeNeeds cpu_blocks_needs{"cpu_blocks", "column_blocks", "formats::column_blocks()"};

bool is_column_blocks(const Format& format) {
  return format.name == "column_blocks";
}

Schedule cut(Schedule schedule, const CpuNest& nest, const CpuBlocks& knobs) {
  const WeightLoops loops = weight_loops(schedule);
  const LoopName block = loops.sum.front();
  const SplitLoops columns = schedule.split(LoopName(nest.vectors), knobs.panel);
  std::vector<LoopName> order(nest.others.begin(), nest.others.end());
  order.insert(order.end(), {columns.outer, block, loops.rows.front(), loops.sum.back(), columns.inner});
  schedule.reorder(order);
  schedule.vectorize(columns.inner);
  if (knobs.copy == CpuBlockCopy::block) schedule.stage(nest.dense, shared, at = block);
  schedule.parallel(knobs.threads == CpuThreads::rows ? loops.rows.front() : order.front());
  return schedule;
}

Schedule schedule_with(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                       const CpuBlocks& knobs) {
  require_format(cpu_blocks_needs, algorithm, weights.get(), is_column_blocks);
  const std::string given = require_in_range(cpu_blocks_needs.name, cpu_blocks_knobs(), knobs);
  const Algorithm seen = in_kernel_order(algorithm);
  if (std::string reason = why_no_cpu_blocks(seen, weights->format(), target); !reason.empty())
    refuse_recipe(cpu_blocks_needs, algorithm, std::move(reason),
                  "a product of several columns whose operands are rows of them, on a CPU; else "
                  "default_schedule(algorithm, weights, target)");
  const CpuNest nest = cpu_nest(seen, formats::csr(), target);
  const CpuBlocks chosen = chosen_for(knobs, nest, seen, target);
  return with_recipe_named(cpu_blocks_needs.name, given, [&] {
    return cut(ordered_schedule(std::move(algorithm), std::move(weights), target), nest, chosen);
  });
}

}  // namespace

std::string why_no_cpu_blocks(const Algorithm& algorithm, const Format& format, const Target& target) {
  if (target.is_gpu()) return target.name + " is no CPU";
  if (!is_column_blocks(format)) return format.text() + " is not column_blocks";
  if (algorithm.takes_any_weights()) return "weights of any size";
  const CpuNest nest = cpu_nest(algorithm, formats::csr(), target);
  if (nest.rows.empty()) return "the results do not go by rows of the weights";
  if (nest.vectors.empty() || nest.width == 1)
    return "one column, of which a block holds few elements anyway";
  if (has_lines(nest) || !nest.fused.empty()) return "an image, or elements that lie apart";
  return why_no_sum(algorithm);
}

CpuBlocks chosen_for(const CpuBlocks& knobs, const CpuNest& nest, const Algorithm& algorithm,
                     const Target& target) {
  constexpr std::int64_t most_vectors = 8, shared_panels = 4;
  CpuBlocks chosen = knobs;
  if (chosen.panel == 0) chosen.panel = panel_of(nest.width, most_vectors * cpu_lanes(algorithm, target));
  if (chosen.copy == CpuBlockCopy::chosen) chosen.copy = CpuBlockCopy::block;
  if (chosen.threads == CpuThreads::chosen) {
    const std::int64_t panels = times_of_others(algorithm, nest) * ceil_divide(nest.width, chosen.panel);
    chosen.threads = panels >= shared_panels ? CpuThreads::panels : CpuThreads::rows;
  }
  return chosen;
}

Schedule cpu_blocks(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                    const CpuBlocks& knobs, CallPlace place) {
  return made_with_knobs(place, cpu_blocks_knobs(), knobs, [&](const CpuBlocks& each) {
    return schedule_with(algorithm, weights, target, each);
  });
}

}  // namespace weft
