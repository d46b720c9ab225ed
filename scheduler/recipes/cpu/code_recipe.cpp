#include <weft/scheduler/recipes/cpu/cpu_code.h>
#include <weft/scheduler/recipes/cpu/in_order.h>
#include <weft/scheduler/recipes/parts/conditions.h>
#include <weft/scheduler/recipes/parts/recipe.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace weft {
namespace {

using namespace recipe_knobs;

constexpr std::array<std::string_view, 2> copies_of_code{"none", "panel"};
constexpr std::array<std::string_view, 2> sharers_of_code{"panels", "rows"};
constexpr std::array<std::string_view, 2> kinds_of_vectors{"pixels", "images"};
constexpr std::int64_t most_rows_of_block = VectorRegisters{VectorRegisters::widest}.sums();

constexpr auto cpu_code_list = list_of(
    knob_of<&CpuCode::rows>("rows", most_rows_of_block), knob_of<&CpuCode::columns>("columns", most_tile),
    knob_of<&CpuCode::lines>("lines", most_tile), knob_of<&CpuCode::copy>("copy", 1, 1, copies_of_code),
    knob_of<&CpuCode::threads>("threads", 1, 1, sharers_of_code),
    knob_of<&CpuCode::lanes>("lanes", VectorRegisters{VectorRegisters::widest}.lanes()),
    knob_of<&CpuCode::vectors>("vectors", 1, 1, kinds_of_vectors));

using namespace bounds;

/// What the code of a point goes through.
CodeWork work_of(const ProblemSummary& problem, const CpuCode& code, const Target& target) {
  if (problem.of_images != nullptr) return work_of(in_kernel_order(*problem.of_images), code, target);
  const std::int64_t lanes = code.lanes > 0 ? code.lanes : registers_of(target).lanes();
  return {
      .vectors = static_cast<double>(ceil_divide(problem.n, lanes)),
      .groups = static_cast<double>(ceil_divide(problem.n, code.columns)),
      .copied = static_cast<double>(problem.k * code.columns) * static_cast<double>(size_of(problem.dtype)),
      .halves = lanes < registers_of(target).lanes()};
}

/// How much longer loads of copies take that do not stay in the first caches: more for each doubling, and
/// more again beyond the second cache. Lines that one vector follows another of are read ahead.
double cost_of_loads(const CodeWork& work, double second_cache) {
  constexpr double near = 64 * 1024, of_doubling = 0.15, beyond_cache = 1.7, of_lines = 0.25;
  const double apart = of_doubling * std::log2(std::max(1.0, work.copied / near)) +
                       std::clamp((work.copied / second_cache - 0.4) / 0.8, 0.0, 1.0);
  return 1 + beyond_cache * apart * (work.of_lines ? of_lines : 1);
}

/// About how long a point takes on one core: the multiplications; a vector loaded for each column that one
/// row of a block keeps, longer where what is copied at a time does not stay in the second cache; loading and
/// storing the sums of a block; the copies; and the code, which comes from the second cache, or from behind
/// it, for every group of columns. Fitted, and then mended by hand, to 240 points of an AMD and 398 of an
/// Intel processor (docs/measurements/cpu.md).
Bound time_of_cpu_code(const ProblemSummary& problem, const KnobValues& point, const Target& target,
                       const Ceilings& ceilings) {
  constexpr double cycles_of_entry = 0.8, cycles_of_load = 1.85, cycles_of_sum = 2.5, bytes_of_entry = 12;
  constexpr double cycles_of_widening = 1, cycles_of_result = 4;
  constexpr double of_copied = 1.4, of_cached_code = 0.2, of_half_vector = 0.75;  // times as long
  const std::int64_t lanes = registers_of(target).lanes();
  const std::int64_t columns = std::min(filled_up(problem.n, lanes), 8 * lanes);
  const CodeWork work = work_of(
      problem,
      {.columns = number_of_knob(point, "columns", columns),
       .lines = number_of_knob(point, "lines", 1),
       .lanes = number_of_knob(point, "lanes", 0),
       .vectors = static_cast<CpuVectors>(number_of_knob(point, "vectors", number_of(CpuVectors::pixels)))},
      target);
  const std::int64_t rows =
      number_of_knob(point, "rows", std::clamp<std::int64_t>(problem.m, 1, registers_of(target).sums()));
  const auto blocks = static_cast<double>(ceil_divide(problem.m, rows));
  const double empty = std::pow(1 - problem.density(), static_cast<double>(rows));
  const double kept = blocks * static_cast<double>(problem.k) * (1 - empty);
  const double cycle = (work.halves ? of_half_vector : 1) * 1e6 / ceilings.cycles_a_second;
  const auto stored = static_cast<double>(problem.stored);
  const auto second_cache = static_cast<double>(target.second_cache_bytes);
  const double code = stored * bytes_of_entry;
  const double behind = std::clamp((code + work.copied) / second_cache - 0.5, 0.0, 1.0);
  Parts parts(ceilings);
  parts.add(Resource::units, cycle * work.vectors * stored * cycles_of_entry);
  // Of 16 bits, what is read is widened, and sums wait in an array until results are made of them.
  const bool widens = problem.dtype != DType::f32;
  parts.add(Resource::units,
            cycle * work.vectors * kept *
                (cycles_of_load * cost_of_loads(work, second_cache) + (widens ? cycles_of_widening : 0)));
  parts.add(Resource::units, cycle * work.vectors * static_cast<double>(problem.m) *
                                 (cycles_of_sum + (widens ? cycles_of_result : 0)));
  if (work.apart)
    parts.add(Resource::units, cycle * static_cast<double>(problem.m) * static_cast<double>(problem.n) *
                                   cycles_of_result_apart);
  if (number_of_knob(point, "copy", number_of(CpuCopy::panel)) != number_of(CpuCopy::none))
    parts.add(Resource::units, 1e6 * of_copied * (work.copies > 0 ? work.copies : work.groups) * work.copied /
                                   ceilings.l2_bytes_a_second);
  parts.add(Resource::units, 1e6 / ceilings.cycles_a_second * work.cycles_of_turning);
  parts.add(Resource::code, 1e6 * work.groups * code *
                                (of_cached_code * (1 - behind) / ceilings.l2_bytes_a_second +
                                 behind / ceilings.bytes_a_second));
  parts.add(Resource::launch, ceilings.launch_microseconds);
  return parts.sum();
}

/// Whether its vectors may be of pixels or of images.
bool has_kinds_of_vectors(const Algorithm& algorithm, const CpuNest& nest, const Target& target) {
  return may_be_of_images(algorithm, target) && has_lines(nest);
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
      lines{chosen.lines}, lanes_of_vectors{chosen.lanes, lanes};
  // Vectors of half a register where they leave less of the last one idle.
  const std::int64_t half = lanes / 2;
  if (registers_of(target).with_lanes(half).halves && nest.width > 0 &&
      filled_up(nest.width, half) < filled_up(nest.width, lanes)) {
    lanes_of_vectors.insert(half);
    columns.insert(std::min(filled_up(nest.width, half), 15 * half));
  }
  if (nest.lines.empty()) {
    for (const std::int64_t panels : {1, 2, 4, 8, 16}) columns.insert(std::min(width, panels * lanes));
  } else {
    for (const std::int64_t parts : {1, 2, 4, 8}) lines.insert(ceil_divide(nest.height, parts));
  }
  std::vector<std::int64_t> copies{number_of(CpuCopy::panel)};
  if (chosen.copy == CpuCopy::none) copies.push_back(number_of(CpuCopy::none));
  RecipeChoices choices;
  choices.knobs = {{"rows", {rows.begin(), rows.end()}},
                   {"columns", {columns.begin(), columns.end()}},
                   {"lines", {lines.begin(), lines.end()}},
                   {"copy", copies},
                   {"threads", {number_of(CpuThreads::panels), number_of(CpuThreads::rows)}},
                   {"lanes", {lanes_of_vectors.begin(), lanes_of_vectors.end()}}};
  Conditions list;
  if (has_kinds_of_vectors(problem.algorithm, nest, target)) {
    choices.knobs.push_back({"vectors", {number_of(CpuVectors::pixels), number_of(CpuVectors::images)}});
    const Algorithm turned = seen_by_code(problem.algorithm, CpuVectors::images);
    list.where(ir::equal(v("vectors"), number_of(CpuVectors::images)));
    list.at_most("pixels", "pixels at a time of a line", {}, v("lines"),
                 cpu_nest(turned, problem.format, target).height);
    list.everywhere();
  }
  if (lanes_of_vectors.size() > 1)
    list.divides("whole vectors", "columns of a panel that whole vectors divide", v("lanes"), v("columns"));
  if (copies.size() > 1) {
    list.where(ir::equal(v("copy"), number_of(CpuCopy::none)));
    list.divides("whole panels", "columns of a panel in place that divide those of the operand", v("columns"),
                 width);
  }
  choices.limits = list.take();
  return choices;
}

/// Trials of before there were halves had whole vectors.
KnobValues filled_code(const ProblemSummary& /*problem*/, const KnobValues& point, const Target& target) {
  KnobValues filled = point;
  filled.try_emplace("lanes", registers_of(target).lanes());
  return filled;
}

std::optional<KnobValues> choose_code(const Algorithm& algorithm, std::shared_ptr<const SparseTensor> weights,
                                      const Target& target) {
  const std::int64_t entries = weights->array("values").size();
  const CpuVectors vectors = chosen_vectors({}, algorithm, entries, target);
  const Algorithm seen = seen_by_code(algorithm, vectors);
  const CpuNest nest = cpu_nest(seen, weights->format(), target);
  KnobValues point =
      values_of(cpu_code_knobs(), chosen_for({.vectors = vectors}, nest, seen, entries, target));
  if (!has_kinds_of_vectors(algorithm, cpu_nest(algorithm, weights->format(), target), target))
    point.erase("vectors");
  return point;
}

}  // namespace

std::span<const KnobField<CpuCode>> cpu_code_knobs() {
  return cpu_code_list;
}

Recipe cpu_code_recipe() {
  return {
      .name = "cpu_code",
      .summary = "weights in the code of a CPU: a register of sums for each row of a block",
      .is_format = [](const Format& format) { return format.name == "csr"; },
      .formats = "csr",
      .of_gpus = false,
      .of_cpus = true,
      .knobs = rows_of(cpu_code_knobs()),
      .some_knobs = "rows=31,columns=128",
      .example =
          "weft verify --weights made:M=256,K=512,sparsity=0.8 --n 64 --device cpu --recipe "
          "cpu_code:columns=32",
      .why_not = why_not_in_order<why_no_code>,
      .choices = choices_in_order<choices_of_code>,
      .choose = choice_in_order<choose_code>,
      .filled = filled_code,
      .write = written<CpuCode, cpu_code, cpu_code_knobs>,
      .time = time_of_cpu_code,
  };
}

}  // namespace weft
