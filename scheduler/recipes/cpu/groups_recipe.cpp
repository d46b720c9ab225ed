#include <weft/scheduler/recipes/cpu/cpu_groups.h>
#include <weft/scheduler/recipes/cpu/in_order.h>
#include <weft/scheduler/recipes/parts/recipe.h>

#include <algorithm>
#include <bit>
#include <set>

namespace weft {
namespace {

using namespace recipe_knobs;

constexpr std::array<std::string_view, 3> copies_of_groups{"none", "panel", "image"};
constexpr std::array<std::string_view, 2> sharers_of_groups{"panels", "rows"};

constexpr auto cpu_groups_list =
    list_of(knob_of<&CpuGroups::panel>("panel", most_tile), knob_of<&CpuGroups::lines>("lines", most_tile),
            knob_of<&CpuGroups::copy>("copy", 1, 1, copies_of_groups),
            knob_of<&CpuGroups::threads>("threads", 1, 1, sharers_of_groups));

using namespace bounds;

/// About how long a point takes on one core: for each column of a group, its number, a value of each row and
/// the vectors, converted where they have 16 bits, and their multiplications; the sums; copies.
Bound time_of_cpu_groups(const ProblemSummary& problem, const KnobValues& point, const Target& target,
                         const Ceilings& ceilings) {
  constexpr double of_column = 1, of_value = 0.5, of_half_value = 2, of_vector = 0.75, of_half_vector = 2;
  constexpr double of_multiplication = 0.55, of_sum = 2, of_copied = 3, beyond_second = 1.5;
  constexpr double beyond_registers = 2;  // a sum that waits in the first cache
  const std::int64_t lanes = target.vector_bytes / static_cast<std::int64_t>(sizeof(float));
  const auto rows = static_cast<double>(std::max<std::int64_t>(1, problem.group_rows));
  const std::int64_t panel =
      std::min(number_of_knob(point, "panel", 2 * lanes), power_of_two_from(problem.n));
  const auto walks = static_cast<double>(ceil_divide(problem.n, panel));
  const auto vectors = static_cast<double>(ceil_divide(panel, lanes));
  const double columns = static_cast<double>(problem.stored) / rows * walks;
  const bool half = is_half(problem.dtype);
  const double cycle = 1e6 / ceilings.cycles_a_second;
  const auto bytes = static_cast<double>(size_of(problem.dtype));
  const double read = static_cast<double>(problem.k * panel) * bytes;
  Parts parts(ceilings);
  parts.add(Resource::latency, cycle * columns *
                                   (of_column + rows * (half ? of_half_value : of_value) +
                                    vectors * (half ? of_half_vector : of_vector)));
  parts.add(Resource::units, cycle * columns * rows * vectors * of_multiplication);
  const double waiting = rows * vectors - static_cast<double>(most_sums_of_group(target));
  parts.add(Resource::latency, cycle * columns * std::max(0.0, waiting) * beyond_registers);
  parts.add(Resource::units, cycle * static_cast<double>(problem.m) * walks * vectors * of_sum);
  if (read > static_cast<double>(target.second_cache_bytes) / 2)
    parts.add(Resource::l2, cycle * columns * vectors * beyond_second);
  if (number_of_knob(point, "copy", number_of(CpuCopy::panel)) != number_of(CpuCopy::none))
    parts.add(Resource::launch, 1e6 * of_copied * static_cast<double>(problem.dense_elements) * bytes /
                                    ceilings.l2_bytes_a_second);
  parts.add(Resource::launch, ceilings.launch_microseconds);
  return parts.sum();
}

std::string why_no_groups(const SpaceProblem& problem, const Target& target) {
  return why_no_cpu_groups(problem.algorithm, problem.format, target);
}

RecipeChoices choices_of_groups(const SpaceProblem& problem, PackedWeights&, const Target& target,
                                const SpaceOptions&) {
  const CpuNest nest = cpu_nest(problem.algorithm, formats::csr(), target);
  const std::int64_t lanes = cpu_lanes(problem.algorithm, target);
  const CpuGroups chosen = chosen_for({}, nest, problem.algorithm, rows_of_vectors(problem.format),
                                      static_cast<double>(problem.matrix->stored()), target);
  std::set<std::int64_t> panels{chosen.panel}, lines{chosen.lines};
  std::set<std::int64_t> copies{number_of(CpuCopy::none), number_of(CpuCopy::panel)};
  const std::int64_t all = nest.width == 0 ? 4 * lanes : power_of_two_from(nest.width);
  for (const std::int64_t vectors : {1, 2, 4}) panels.insert(std::min(vectors * lanes, all));
  if (!nest.lines.empty()) {
    for (const std::int64_t count : {1, 2, 3})
      lines.insert(std::min(count, std::max<std::int64_t>(1, nest.height)));
  }
  if (nest.windows && !nest.others.empty()) copies.insert(number_of(CpuCopy::image));
  RecipeChoices choices;
  choices.knobs = {{"panel", {panels.begin(), panels.end()}},
                   {"lines", {lines.begin(), lines.end()}},
                   {"copy", {copies.begin(), copies.end()}},
                   {"threads", {number_of(CpuThreads::panels), number_of(CpuThreads::rows)}}};
  return choices;
}

std::optional<KnobValues> choose_groups(const Algorithm& algorithm,
                                        std::shared_ptr<const SparseTensor> weights, const Target& target) {
  const CpuNest nest = cpu_nest(algorithm, formats::csr(), target);
  return values_of(cpu_groups_knobs(),
                   chosen_for({}, nest, algorithm, rows_of_vectors(weights->format()),
                              static_cast<double>(weights->array("values").size()), target));
}

}  // namespace

std::span<const KnobField<CpuGroups>> cpu_groups_knobs() {
  return cpu_groups_list;
}

Recipe cpu_groups_recipe() {
  return {
      .name = "cpu_groups",
      .summary = "groups of rows on a CPU: a vector is read once for all rows of a group",
      .is_format = [](const Format& format) { return format.name == "column_vectors"; },
      .formats = "column_vectors:V=8",
      .of_gpus = false,
      .of_cpus = true,
      .knobs = rows_of(cpu_groups_knobs()),
      .some_knobs = "panel=32,copy=panel",
      .example =
          "weft verify --weights made:M=256,K=512,sparsity=0.75,V=16 --n 64 --device cpu --format "
          "column_vectors:V=16 --recipe cpu_groups:panel=32",
      .why_not = why_not_in_order<why_no_groups>,
      .choices = choices_in_order<choices_of_groups>,
      .choose = choice_in_order<choose_groups>,
      .write = written<CpuGroups, cpu_groups, cpu_groups_knobs>,
      .time = time_of_cpu_groups,
  };
}

}  // namespace weft
