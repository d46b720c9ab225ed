#include <fmt/format.h>
#include <weft/scheduler/recipes/cpu/cpu_code.h>
#include <weft/scheduler/recipes/parts/product.h>

#include <algorithm>
#include <utility>

namespace weft {
namespace {

const RecipeNeeds needs{"cpu_code", "csr", "formats::csr()"};

constexpr std::int64_t most_entries = 500'000;  ///< as bake_values takes on a CPU
constexpr std::int64_t most_panels =
    8;  ///< that a block's code goes through: beyond that the copy is what costs

/// Rows or panels in parts that are alike, of at most so many.
std::int64_t evenly(std::int64_t count, std::int64_t most) {
  return ceil_divide(count, ceil_divide(count, std::max<std::int64_t>(1, most)));
}

/// Rows of the dense operand that the weights may keep.
std::int64_t summed(const Algorithm& algorithm) {
  std::int64_t count = 1;
  for (const IndexVariable& index : algorithm.indices) {
    if (index.reduction) count *= std::max<std::int64_t>(1, extent_of(algorithm, index.name).value);
  }
  return count;
}

Schedule steps(Schedule schedule, const CpuNest& nest, const CpuCode& knobs, std::int64_t lanes) {
  require_sum(schedule);
  const SplitLoops rows = schedule.split(LoopName(nest.rows), knobs.rows);
  const SplitLoops columns = schedule.split(LoopName(nest.vectors), knobs.columns);
  const bool of_panels = knobs.columns > lanes;
  const SplitLoops panels = of_panels ? schedule.split(columns.inner, lanes) : SplitLoops{{}, columns.inner};
  std::vector<LoopName> order{columns.outer, rows.outer};
  if (of_panels) order.push_back(panels.outer);
  order.insert(order.end(), {rows.inner, LoopName(nest.sum), panels.inner});
  schedule.reorder(order).vectorize(panels.inner);
  schedule.stage(nest.dense, shared, at = columns.outer);
  schedule.bake_values(rows.inner);
  schedule.parallel(knobs.threads == CpuThreads::rows ? rows.outer : columns.outer);
  return schedule;
}

Schedule schedule_with(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                       const CpuCode& knobs) {
  require_format(needs, algorithm, weights.get(), [](const Format& format) { return format.name == "csr"; });
  const std::string given = require_in_range(needs.name, cpu_code_knobs(), knobs);
  const std::string reason =
      why_no_cpu_code(algorithm, weights->format(), weights->array("values").size(), target);
  if (!reason.empty())
    refuse_recipe(
        needs, algorithm, reason,
        fmt::format("f32 weights of at most {} entries and a product, on a CPU with AVX2 or AVX-512; else "
                    "cpu_rows or default_schedule(algorithm, weights, target)",
                    most_entries));
  const CpuNest nest = cpu_nest(algorithm, weights->format(), target);
  const CpuCode chosen = chosen_for(knobs, nest, algorithm, target);
  if (chosen.columns % registers_of(target).lanes() != 0)
    throw UserError(
        "knobs of cpu_code do not fit the processor", algorithm.text(),
        fmt::format("columns = {}", chosen.columns),
        fmt::format("a multiple of {}, the elements of its vectors", registers_of(target).lanes()));
  return with_recipe_named(needs.name, given, [&] {
    return steps(Schedule(std::move(algorithm), std::move(weights), target), nest, chosen,
                 registers_of(target).lanes());
  });
}

}  // namespace

std::string why_no_cpu_code(const Algorithm& algorithm, const Format& format, std::int64_t entries,
                            const Target& target) {
  if (target.is_gpu()) return target.name + " is no CPU";
  if (!registers_of(target).known()) return fmt::format("vectors of {} bytes", target.vector_bytes);
  if (format.name != "csr") return format.text() + " is not csr";
  if (algorithm.takes_any_weights()) return "weights that a launch gives";
  if (entries > most_entries) return fmt::format("{} entries", entries);
  const CpuNest nest = cpu_nest(algorithm, format, target);
  if (nest.rows.empty()) return "the results do not go by rows of the weights";
  if (nest.windows || nest.scattered || !nest.fused.empty() || !nest.others.empty())
    return "columns of several indices, as pixels are";
  if (std::string reason = why_no_sum(algorithm); !reason.empty()) return reason;
  for (const Operand& operand : algorithm.operands) {
    if (operand.dtype != DType::f32) return fmt::format("{} in {}", operand.name, name_of(operand.dtype));
  }
  if (nest.vectors.empty() || (nest.width > 0 && nest.width < registers_of(target).lanes()))
    return fmt::format("{} columns, less than a vector of {}", nest.width, registers_of(target).lanes());
  return {};
}

CpuCode chosen_for(const CpuCode& knobs, const CpuNest& nest, const Algorithm& algorithm,
                   const Target& target) {
  const std::int64_t lanes = registers_of(target).lanes();
  CpuCode chosen = knobs;
  if (chosen.rows == 0)
    chosen.rows = evenly(extent_of(algorithm, nest.rows).value, registers_of(target).sums());
  const std::int64_t panels = nest.width == 0 ? most_panels : ceil_divide(nest.width, lanes);
  if (chosen.columns == 0) {
    // What is beside the copy stays in the second cache, too.
    const std::int64_t fit = target.second_cache_bytes / 2 / (target.vector_bytes * summed(algorithm));
    chosen.columns = lanes * evenly(panels, std::clamp<std::int64_t>(fit, 1, most_panels));
  }
  if (chosen.threads == CpuThreads::chosen) {
    constexpr std::int64_t least_groups = 4;
    chosen.threads = panels * lanes >= least_groups * chosen.columns ? CpuThreads::panels : CpuThreads::rows;
  }
  return chosen;
}

Schedule cpu_code(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                  const CpuCode& knobs, CallPlace place) {
  return made_with_knobs(place, cpu_code_knobs(), knobs, [&](const CpuCode& each) {
    return schedule_with(algorithm, weights, target, each);
  });
}

}  // namespace weft
