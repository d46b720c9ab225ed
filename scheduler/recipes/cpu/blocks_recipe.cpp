#include <weft/scheduler/recipes/cpu/cpu_blocks.h>
#include <weft/scheduler/recipes/cpu/in_order.h>
#include <weft/scheduler/recipes/parts/recipe.h>

#include <algorithm>
#include <set>

namespace weft {
namespace {

using namespace recipe_knobs;

constexpr std::array<std::string_view, 2> copies_of_blocks{"none", "block"};
constexpr std::array<std::string_view, 2> sharers_of_blocks{"panels", "rows"};

constexpr auto cpu_blocks_list = list_of(knob_of<&CpuBlocks::panel>("panel", most_tile),
                                         knob_of<&CpuBlocks::copy>("copy", 1, 1, copies_of_blocks),
                                         knob_of<&CpuBlocks::threads>("threads", 1, 1, sharers_of_blocks));

using namespace bounds;

/// About how long a point takes on one core: for each entry and panel its number and value and a
/// multiplication for each vector, slower where a block of the panel is larger than the first cache; for each
/// row and block of columns the sums brought and taken back; the copies.
Bound time_of_cpu_blocks(const ProblemSummary& problem, const KnobValues& point, const Target& target,
                         const Ceilings& ceilings) {
  constexpr double of_entry = 1.5, of_vector = 0.85, of_half = 0.6, beyond_first = 0.4, of_row = 6,
                   of_sum = 2.5;
  constexpr double of_copied = 6, of_apart = 0.6, ahead = 0.5;
  const std::int64_t lanes = target.vector_bytes / static_cast<std::int64_t>(sizeof(float));
  const std::int64_t panel =
      std::min(number_of_knob(point, "panel", 8 * lanes), power_of_two_from(problem.n));
  const auto walks = static_cast<double>(ceil_divide(problem.n, panel));
  const auto vectors = static_cast<double>(ceil_divide(std::min(panel, problem.n), lanes));
  const std::int64_t columns =
      std::clamp<std::int64_t>(problem.block, 1, std::max<std::int64_t>(1, problem.k));
  const auto blocks = static_cast<double>(ceil_divide(problem.k, columns));
  const auto bytes = static_cast<double>(size_of(problem.dtype));
  const double cycle = 1e6 / ceilings.cycles_a_second;
  const double entries = static_cast<double>(problem.stored) * walks;
  const bool copied =
      number_of_knob(point, "copy", number_of(CpuBlockCopy::block)) == number_of(CpuBlockCopy::block);
  const double read = static_cast<double>(columns * panel) * bytes;
  Parts parts(ceilings);
  parts.add(Resource::latency, cycle * entries * of_entry);
  parts.add(Resource::units,
            cycle * entries * vectors * (of_vector + (is_half(problem.dtype) ? of_half : 0)));
  if (read > static_cast<double>(target.first_cache_bytes))
    parts.add(Resource::shared_memory, cycle * entries * vectors * beyond_first);
  if (!copied) parts.add(Resource::l2, cycle * entries * vectors * of_apart);
  parts.add(Resource::units,
            cycle * static_cast<double>(problem.m) * walks * blocks * (of_row + vectors * of_sum));
  if (copied)
    parts.add(Resource::launch, 1e6 * of_copied * static_cast<double>(problem.dense_elements) * bytes /
                                    ceilings.l2_bytes_a_second);
  const double list =
      static_cast<double>(problem.stored) * (bytes + static_cast<double>(problem.column_bits) / 8);
  if (list > static_cast<double>(target.second_cache_bytes))
    parts.add(Resource::memory, 1e6 * ahead * list * walks / ceilings.bytes_a_second);
  parts.add(Resource::launch, ceilings.launch_microseconds);
  return parts.sum();
}

std::string why_no_blocks(const SpaceProblem& problem, const Target& target) {
  return why_no_cpu_blocks(problem.algorithm, problem.format, target);
}

RecipeChoices choices_of_blocks(const SpaceProblem& problem, PackedWeights&, const Target& target,
                                const SpaceOptions&) {
  const CpuNest nest = cpu_nest(problem.algorithm, formats::csr(), target);
  const std::int64_t lanes = cpu_lanes(problem.algorithm, target);
  const std::int64_t all = nest.width == 0 ? 8 * lanes : power_of_two_from(nest.width);
  std::set<std::int64_t> panels;
  for (const std::int64_t vectors : {1, 2, 4, 8}) panels.insert(std::min(vectors * lanes, all));
  RecipeChoices choices;
  choices.knobs = {{"panel", {panels.begin(), panels.end()}},
                   {"copy", {number_of(CpuBlockCopy::none), number_of(CpuBlockCopy::block)}},
                   {"threads", {number_of(CpuThreads::panels), number_of(CpuThreads::rows)}}};
  return choices;
}

std::optional<KnobValues> choose_blocks(const Algorithm& algorithm, std::shared_ptr<const SparseTensor>,
                                        const Target& target) {
  return values_of(cpu_blocks_knobs(),
                   chosen_for({}, cpu_nest(algorithm, formats::csr(), target), algorithm, target));
}

}  // namespace

std::span<const KnobField<CpuBlocks>> cpu_blocks_knobs() {
  return cpu_blocks_list;
}

Recipe cpu_blocks_recipe() {
  return {
      .name = "cpu_blocks",
      .summary = "blocks of columns on a CPU: what a block multiplies stays in the first cache",
      .is_format = [](const Format& format) { return format.name == "column_blocks"; },
      .formats = "column_blocks:columns=128",
      .of_gpus = false,
      .of_cpus = true,
      .knobs = rows_of(cpu_blocks_knobs()),
      .some_knobs = "panel=64,copy=none",
      .example =
          "weft verify --weights made:M=256,K=512,sparsity=0.75 --n 64 --device cpu --format "
          "column_blocks:columns=128 --recipe cpu_blocks:panel=32",
      .why_not = why_not_in_order<why_no_blocks>,
      .choices = choices_in_order<choices_of_blocks>,
      .choose = choice_in_order<choose_blocks>,
      .write = written<CpuBlocks, cpu_blocks, cpu_blocks_knobs>,
      .time = time_of_cpu_blocks,
  };
}

}  // namespace weft
