#include <weft/scheduler/recipes/cpu/cpu_code.h>
#include <weft/scheduler/recipes/parts/recipe.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace weft {
namespace {

using namespace recipe_knobs;

constexpr std::array<std::string_view, 2> sharers_of_code{"panels", "rows"};
constexpr std::int64_t most_rows_of_block = VectorRegisters{VectorRegisters::widest}.sums();

constexpr auto cpu_code_list =
    list_of(knob_of<&CpuCode::rows>("rows", most_rows_of_block),
            knob_of<&CpuCode::columns>("columns", most_tile), knob_of<&CpuCode::lines>("lines", most_tile),
            knob_of<&CpuCode::threads>("threads", 1, 1, sharers_of_code));

using namespace bounds;

/// About how long a point takes on one core: loads, of a constant for each multiplication and of a vector for
/// each column that one row of a block keeps, of which half were seen of the two that a cycle allows; loading
/// and storing the sums of a block; the copies; and the code, which comes from the second cache for every
/// group of columns.
Bound time_of_cpu_code(const ProblemSummary& problem, const KnobValues& point, const Target& target,
                       const Ceilings& ceilings) {
  constexpr double loads_of_cycle = 1.1, cycles_of_sum = 3, bytes_of_entry = 12;
  const std::int64_t lanes = registers_of(target).lanes();
  const std::int64_t rows =
      number_of_knob(point, "rows", std::clamp<std::int64_t>(problem.m, 1, registers_of(target).sums()));
  const std::int64_t columns =
      number_of_knob(point, "columns", std::min(filled_up(problem.n, lanes), 8 * lanes));
  constexpr double of_lines = 1.15;  // vectors that end with a line are not full
  const double vectors =
      static_cast<double>(ceil_divide(problem.n, lanes)) * (problem.convolution ? of_lines : 1);
  const auto blocks = static_cast<double>(ceil_divide(problem.m, rows));
  const double empty = std::pow(1 - problem.density(), static_cast<double>(rows));
  const double kept = blocks * static_cast<double>(problem.k) * (1 - empty);
  const double cycle = 1e6 / ceilings.cycles_a_second;
  const auto stored = static_cast<double>(problem.stored);
  Parts parts(ceilings);
  parts.add(Resource::units, vectors * (stored + kept) / loads_of_cycle * cycle);
  parts.add(Resource::units, vectors * static_cast<double>(problem.m) * cycles_of_sum * cycle);
  const auto second_cache = static_cast<double>(target.second_cache_bytes);
  // Vectors of the copy are read and written a line of the operand apart, those of results a row apart.
  const auto all_columns = static_cast<double>(problem.k) * static_cast<double>(problem.n);
  const double copied =
      2 * std::min(static_cast<double>(problem.dense_elements), all_columns) * sizeof(float);
  const double results = static_cast<double>(problem.m) * static_cast<double>(problem.n) * sizeof(float);
  constexpr double beyond_cache = 2.5;  // times as long
  for (const double apart : {copied, results})
    parts.add(Resource::units,
              1e6 * apart / ceilings.l2_bytes_a_second * (apart > second_cache ? beyond_cache : 1));
  const auto groups = static_cast<double>(ceil_divide(problem.n, columns));
  const double code = stored * bytes_of_entry;
  const double rate = code > second_cache ? ceilings.bytes_a_second : ceilings.l2_bytes_a_second;
  parts.add(Resource::code, 1e6 * groups * code / rate);
  parts.add_memory(problem);
  parts.add(Resource::launch, ceilings.launch_microseconds);
  return parts.total();
}

std::string why_no_code(const SpaceProblem& problem, const Target& target) {
  return why_no_cpu_code(problem.algorithm, problem.format, problem.matrix->stored(), target);
}

RecipeChoices choices_of_code(const SpaceProblem& problem, PackedWeights&, const Target& target,
                              const SpaceOptions&) {
  const CpuNest nest = cpu_nest(problem.algorithm, problem.format, target);
  const CpuCode chosen = chosen_for({}, nest, problem.algorithm, problem.matrix->stored(), target);
  const std::int64_t lanes = registers_of(target).lanes();
  const std::int64_t width = nest.width == 0 ? 8 * lanes : filled_up(nest.width, lanes);
  std::set<std::int64_t> rows{chosen.rows, ceil_divide(chosen.rows, 2)}, columns{chosen.columns},
      lines{chosen.lines};
  if (nest.lines.empty()) {
    for (const std::int64_t panels : {1, 2, 4, 8, 16}) columns.insert(std::min(width, panels * lanes));
  } else {
    for (const std::int64_t parts : {1, 2, 4, 8}) lines.insert(ceil_divide(nest.height, parts));
  }
  RecipeChoices choices;
  choices.knobs = {{"rows", {rows.begin(), rows.end()}},
                   {"columns", {columns.begin(), columns.end()}},
                   {"lines", {lines.begin(), lines.end()}},
                   {"threads", {number_of(CpuThreads::panels), number_of(CpuThreads::rows)}}};
  return choices;
}

std::optional<KnobValues> choose_code(const Algorithm& algorithm, std::shared_ptr<const SparseTensor> weights,
                                      const Target& target) {
  const CpuNest nest = cpu_nest(algorithm, weights->format(), target);
  return values_of(cpu_code_knobs(),
                   chosen_for({}, nest, algorithm, weights->array("values").size(), target));
}

}  // namespace

std::span<const KnobField<CpuCode>> cpu_code_knobs() {
  return cpu_code_list;
}

Recipe cpu_code_recipe() {
  return {
      .name = "cpu_code",
      .summary = "f32 weights in the code of a CPU: a register of sums for each row of a block",
      .is_format = [](const Format& format) { return format.name == "csr"; },
      .formats = "csr",
      .of_gpus = false,
      .of_cpus = true,
      .knobs = rows_of(cpu_code_knobs()),
      .some_knobs = "rows=31,columns=128",
      .example =
          "weft verify --weights made:M=256,K=512,sparsity=0.8 --n 64 --device cpu --recipe "
          "cpu_code:columns=32",
      .why_not = why_no_code,
      .choices = choices_of_code,
      .choose = choose_code,
      .write = written<CpuCode, cpu_code, cpu_code_knobs>,
      .time = time_of_cpu_code,
  };
}

}  // namespace weft
