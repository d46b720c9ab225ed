#include <weft/scheduler/recipes/cpu/choices.h>
#include <weft/scheduler/recipes/cpu/cpu_rows.h>
#include <weft/scheduler/recipes/parts/recipe.h>

namespace weft {
namespace {

using namespace recipe_knobs;

constexpr std::array<std::string_view, 3> copies{"none", "panel", "image"};
constexpr std::array<std::string_view, 2> orders{"panels", "rows"}, sharers_of_rows{"panels", "rows"};
constexpr std::int64_t most_rows_together = 64, most_groups = 32;

constexpr auto cpu_rows_list =
    list_of(knob_of<&CpuRows::panel>("panel", most_tile), knob_of<&CpuRows::rows>("rows", most_rows_together),
            knob_of<&CpuRows::groups>("groups", most_groups), knob_of<&CpuRows::copy>("copy", 1, 1, copies),
            knob_of<&CpuRows::order>("order", 1, 1, orders),
            knob_of<&CpuRows::threads>("threads", 1, 1, sharers_of_rows));

using namespace bounds;

/// About how long a point takes on one core: FMAs of whole vectors, what is read for each entry and panel,
/// the chain of additions where sums are few, what of the dense operand comes from the second cache, and the
/// entries as often as panels read them.
Bound time_of_cpu_rows(const ProblemSummary& problem, const KnobValues& point, const Target& target,
                       const Ceilings& ceilings) {
  constexpr double cycles_of_entry = 3, cycles_of_place = 6, latency_of_addition = 4;
  const std::int64_t lanes = target.vector_bytes / static_cast<std::int64_t>(sizeof(float));
  const std::int64_t usual = std::min<std::int64_t>(64, power_of_two_from(problem.n));
  const std::int64_t panel = number_of_knob(point, "panel", usual), rows = number_of_knob(point, "rows", 1);
  const std::int64_t groups = number_of_knob(point, "groups", 1);
  const auto stored = static_cast<double>(problem.stored);
  const auto walks = static_cast<double>(ceil_divide(problem.n, panel * rows));
  const auto vectors = static_cast<double>(rows * ceil_divide(panel, lanes));
  const double cycle = 1e6 / ceilings.cycles_a_second;
  Parts parts(ceilings);
  parts.add(Resource::units, stored * walks * vectors * cycle);
  const double of_entry = problem.convolution ? cycles_of_place : cycles_of_entry;
  const double chain = latency_of_addition / (vectors * static_cast<double>(groups)) * vectors;
  parts.add(Resource::latency, stored * walks * std::max(of_entry, chain) * cycle);
  const bool copied = number_of_knob(point, "copy", number_of(CpuCopy::none)) != number_of(CpuCopy::none);
  const auto bytes = static_cast<double>(size_of(problem.dtype));
  const bool fits = problem.k * panel * rows * static_cast<std::int64_t>(bytes) <= target.first_cache_bytes;
  const double gathered = stored * walks * vectors * static_cast<double>(lanes) * bytes;
  constexpr double across_lines = 1.5;
  parts.add(fits ? Resource::shared_memory : Resource::l2,
            (copied ? 1 : across_lines) * 1e6 * gathered /
                (fits ? ceilings.shared_bytes_a_second : ceilings.l2_bytes_a_second));
  if (copied)
    parts.add(Resource::launch,
              2e6 * static_cast<double>(problem.dense_elements) * bytes / ceilings.l2_bytes_a_second);
  constexpr double bytes_of_column = 4;
  const bool again = number_of_knob(point, "order", number_of(CpuOrder::rows)) == number_of(CpuOrder::panels);
  const double entries = stored * (bytes + bytes_of_column) * (again ? walks : 1);
  const double rate = stored * (bytes + bytes_of_column) > static_cast<double>(ceilings.l2_bytes)
                          ? ceilings.bytes_a_second
                          : ceilings.l2_bytes_a_second;
  parts.add(Resource::memory, 1e6 * entries / rate);
  parts.add(Resource::launch, ceilings.launch_microseconds);
  return parts.total();
}

std::optional<KnobValues> choose_rows(const Algorithm& algorithm, std::shared_ptr<const SparseTensor> weights,
                                      const Target& target) {
  const CpuNest nest = cpu_nest(algorithm, weights->format(), target);
  return values_of(cpu_rows_knobs(), chosen_for({}, nest, algorithm, entries_of_row(*weights), target));
}

}  // namespace

std::span<const KnobField<CpuRows>> cpu_rows_knobs() {
  return cpu_rows_list;
}

Recipe cpu_rows_recipe() {
  return {
      .name = "cpu_rows",
      .summary = "rows of lists on a CPU: vectors of columns or pixels, sums in registers",
      .is_format = [](const Format& format) { return format.name == "csr" || format.name == "dense"; },
      .formats = "csr or dense",
      .of_gpus = false,
      .of_cpus = true,
      .knobs = rows_of(cpu_rows_knobs()),
      .some_knobs = "panel=64,groups=2",
      .example =
          "weft verify --weights made:M=256,K=512,sparsity=0.9 --n 64 --device cpu --recipe "
          "cpu_rows:panel=32,copy=panel",
      .why_not = why_no_cpu_rows,
      .choices = cpu_rows_choices,
      .choose = choose_rows,
      .write = written<CpuRows, cpu_rows, cpu_rows_knobs>,
      .time = time_of_cpu_rows,
  };
}

}  // namespace weft
