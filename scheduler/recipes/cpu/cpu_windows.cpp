#include <weft/scheduler/recipes/cpu/cpu_windows.h>
#include <weft/scheduler/recipes/cpu/in_order.h>
#include <weft/scheduler/recipes/parts/product.h>

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

using namespace recipe_knobs;
using namespace bounds;

const RecipeNeeds cpu_windows_needs{"cpu_windows", "column_windows", "formats::column_windows()"};
constexpr std::int64_t wide_register = 64, columns_of_window = 32, rows_of_window = 16, steps_of_window = 4;

constexpr auto cpu_windows_list = list_of(knob_of<&CpuWindows::sums>("sums", steps_of_window));

bool is_column_windows(const Format& format) {
  return format.name == "column_windows";
}

constexpr std::int64_t most_columns = 8;

bool is_few(const CpuNest& nest) {
  return nest.vectors.empty() || (nest.width >= 1 && nest.width <= most_columns);
}

/// A sum of few columns waits for the addition before; of more, windows and sums fill the registers.
std::int64_t usual_sums(std::int64_t columns) {
  return columns <= 2 ? 2 : 1;
}

std::string why_no_cpu_windows(const Algorithm& algorithm, const Format& format, const Target& target) {
  if (target.is_gpu()) return target.name + " is no CPU";
  if (!is_column_windows(format)) return format.text() + " is not column_windows";
  if (algorithm.takes_any_weights()) return "weights of any size";
  const CpuNest nest = cpu_nest(algorithm, formats::csr(), target);
  if (nest.rows.empty()) return "the results do not go by rows of the weights";
  const Operand& dense = algorithm.operands[dense_operand(algorithm)];
  if (dense.dtype != DType::f32 || algorithm.accumulator != DType::f32) return "another type than f32";
  const bool is_image = nest.windows || !nest.fused.empty() || dense.shape.size() > 2;
  if (is_image || times_of_others(algorithm, nest) != 1 || !is_few(nest))
    return "more than eight columns, columns whose number a launch says, or an image";
  std::int64_t columns = 1;
  for (const IndexVariable& index : algorithm.indices)
    if (index.reduction) columns *= index.extent.is_static() ? index.extent.value : 0;
  if (columns < columns_of_window) return "fewer than 32 columns of weights";
  return why_no_sum(algorithm);
}

/// Windows are read along what is summed over: columns that lie otherwise are transposed.
Schedule begun(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
               const CpuNest& nest) {
  Schedule schedule(std::move(algorithm), std::move(weights), target);
  const std::vector<std::string> across = operands_across(schedule.algorithm());
  const bool lies_along = std::ranges::find(across, nest.dense) != across.end();
  if (nest.width > 1 && !lies_along) schedule.transpose(nest.dense);
  return schedule;
}

Schedule summed(Schedule schedule, const CpuNest& nest, std::int64_t sums) {
  const WeightLoops loops = weight_loops(schedule);
  const LoopName group = loops.rows.front(), row = loops.rows.back(), block = loops.sum.front();
  const SplitLoops steps = schedule.split(loops.sum.back(), sums);
  std::vector<LoopName> around(nest.others.begin(), nest.others.end()), inside{row};
  if (!nest.vectors.empty()) {
    if (nest.width == 1)
      around.emplace_back(nest.vectors);
    else
      inside.insert(inside.begin(), nest.vectors);
  }
  around.insert(around.end(), {group, block, steps.outer});
  const auto order = [&](std::initializer_list<LoopName> of_step) {
    std::vector<LoopName> all = around;
    all.insert(all.end(), of_step);
    all.insert(all.end(), inside.begin(), inside.end());
    schedule.reorder(all);
  };
  order({steps.inner});
  if (sums > 1) {
    const LoopName dealt = schedule.split_k(steps.inner, sums);
    order({dealt, steps.inner});
    schedule.unroll(dealt);
  }
  schedule.unroll(steps.outer);
  if (nest.width > 1) schedule.unroll(nest.vectors);
  schedule.vectorize(row);
  schedule.parallel(group);
  return schedule;
}

Schedule schedule_with(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                       const CpuWindows& knobs) {
  require_format(cpu_windows_needs, algorithm, weights.get(), is_column_windows);
  const std::string given = require_in_range(cpu_windows_needs.name, cpu_windows_knobs(), knobs);
  const Algorithm seen = in_kernel_order(algorithm);
  if (std::string reason = why_no_cpu_windows(seen, weights->format(), target); !reason.empty())
    refuse_recipe(cpu_windows_needs, algorithm, std::move(reason),
                  "up to eight columns of f32, on a CPU; else default_schedule(algorithm, weights, target)");
  const CpuNest nest = cpu_nest(seen, formats::csr(), target);
  const std::int64_t sums = knobs.sums == 0 ? usual_sums(nest.width) : knobs.sums;
  if (steps_of_window % sums != 0)
    throw UserError("a knob of cpu_windows does not fit the weights", algorithm.text(),
                    "sums = " + std::to_string(sums),
                    "1, 2 or 4, which share the four steps of a block evenly");
  return with_recipe_named(cpu_windows_needs.name, given, [&] {
    return summed(begun(std::move(algorithm), std::move(weights), target, nest), nest, sums);
  });
}

/// Places for an entry: those of rows that have none left in a window stay empty. Fitted to weights of 50 to
/// 95 % zeros, of which 1.06 to 2.6 were filled.
double places_of_entry(const ProblemSummary& problem) {
  constexpr double factor = 2.9, power = -1.25;
  const double of_row = problem.density() * static_cast<double>(columns_of_window);
  return of_row > 0 ? 1 + factor * std::pow(of_row, power) : 1;
}

/// About how long a point takes on one core: its steps, and where values and bytes come from.
Bound time_of_cpu_windows(const ProblemSummary& problem, const KnobValues& point, const Target& target,
                          const Ceilings& ceilings) {
  constexpr double of_one = 2.6, of_column = 2.05, of_gathered = 24, of_chain = 0.6, of_spilled = 8;
  constexpr double of_group = 40, beyond_second = 0.8, bytes_of_place = 5;
  constexpr std::int64_t registers_of_window = 2, most_registers = 28;
  const double cycle = 1e6 / ceilings.cycles_a_second;
  const double places = static_cast<double>(problem.stored) * places_of_entry(problem);
  const double steps = places / static_cast<double>(rows_of_window);
  const double bytes = places * bytes_of_place;
  const std::int64_t count = std::max<std::int64_t>(1, problem.n);
  const std::int64_t sums = number_of_knob(point, "sums", usual_sums(count));
  const auto columns = static_cast<double>(count);
  double of_step = std::max(of_one, of_column * columns);
  if (count == 1 && sums == 1) of_step += of_chain;
  if (count * (registers_of_window + sums) > most_registers) of_step += of_spilled;
  if (target.vector_bytes < wide_register) of_step = of_gathered * columns;
  Parts parts(ceilings);
  parts.add(Resource::units, cycle * steps * of_step);
  parts.add(Resource::units,
            cycle * of_group * columns * static_cast<double>(ceil_divide(problem.m, rows_of_window)));
  if (bytes > static_cast<double>(target.second_cache_bytes))
    parts.add(Resource::l2, cycle * steps * beyond_second);
  if (bytes > static_cast<double>(ceilings.third_cache_bytes))
    parts.add(Resource::memory, 1e6 * bytes / ceilings.bytes_a_second / 2);
  parts.add(Resource::launch, ceilings.launch_microseconds);
  return parts.sum();
}

std::string why_no_windows(const SpaceProblem& problem, const Target& target) {
  return why_no_cpu_windows(problem.algorithm, problem.format, target);
}

RecipeChoices choices_of_windows(const SpaceProblem&, PackedWeights&, const Target&, const SpaceOptions&) {
  RecipeChoices choices;
  choices.knobs = {{"sums", {1, 2, 4}}};
  return choices;
}

std::optional<KnobValues> choose_windows(const Algorithm& algorithm, std::shared_ptr<const SparseTensor>,
                                         const Target& target) {
  const CpuNest nest = cpu_nest(algorithm, formats::csr(), target);
  return values_of(cpu_windows_knobs(), CpuWindows{.sums = usual_sums(nest.width)});
}

}  // namespace

std::span<const KnobField<CpuWindows>> cpu_windows_knobs() {
  return cpu_windows_list;
}

Schedule cpu_windows(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                     const CpuWindows& knobs, CallPlace place) {
  return made_with_knobs(place, cpu_windows_knobs(), knobs, [&](const CpuWindows& each) {
    return schedule_with(algorithm, weights, target, each);
  });
}

Recipe cpu_windows_recipe() {
  return {
      .name = "cpu_windows",
      .summary = "few columns on a CPU: elements are picked out of registers, not gathered",
      .is_format = is_column_windows,
      .formats = "column_windows",
      .of_gpus = false,
      .of_cpus = true,
      .knobs = rows_of(cpu_windows_knobs()),
      .some_knobs = "sums=4",
      .example =
          "weft verify --weights made:M=256,K=512,sparsity=0.75 --n 1 --device cpu --format column_windows "
          "--recipe cpu_windows:sums=2",
      .why_not = why_not_in_order<why_no_windows>,
      .choices = choices_in_order<choices_of_windows>,
      .choose = choice_in_order<choose_windows>,
      .write = written<CpuWindows, cpu_windows, cpu_windows_knobs>,
      .time = time_of_cpu_windows,
  };
}

}  // namespace weft
