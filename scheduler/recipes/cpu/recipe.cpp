#include <weft/scheduler/recipes/cpu/choices.h>
#include <weft/scheduler/recipes/cpu/cpu_rows.h>
#include <weft/scheduler/recipes/cpu/in_order.h>
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

/// What a point does to the results.
struct RowsWork {
  double walks = 0;         ///< how often the entries are gone through
  double vectors = 0;       ///< a walk's vectors of sums
  double panel = 0;         ///< bytes of the dense operand that a walk reads
  bool in_windows = false;  ///< the dense operand is an image, where each entry has a place of its own
  bool apart = false;       ///< results that are one vector lie apart
  bool scattered = false;   ///< so do elements of the dense operand
};

RowsWork work_of(const ProblemSummary& problem, const CpuRows& rows, const Target& target) {
  const std::int64_t lanes = target.vector_bytes / static_cast<std::int64_t>(sizeof(float));
  const auto bytes = static_cast<double>(size_of(problem.dtype));
  const std::int64_t width = std::min(rows.panel, power_of_two_from(problem.n));
  RowsWork work{.walks = static_cast<double>(ceil_divide(problem.n, rows.panel * rows.rows)),
                .vectors = static_cast<double>(rows.rows * ceil_divide(width, lanes)),
                .panel = static_cast<double>(problem.k * rows.panel) * bytes,
                .in_windows = problem.convolution};
  if (problem.of_images == nullptr) return work;
  const Algorithm images = in_kernel_order(*problem.of_images);
  const CpuNest nest = cpu_nest(images, formats::csr(), target);
  if (nest.width == 0 || nest.vectors.empty()) return work;
  auto walks = static_cast<double>(times_of_others(images, nest));
  const bool of_lines = !nest.lines.empty() && nest.lines != nest.rows;
  if (of_lines) walks *= static_cast<double>(ceil_divide(nest.height, rows.rows));
  work.walks = walks * static_cast<double>(ceil_divide(nest.width, rows.panel));
  work.vectors = static_cast<double>(rows.rows * ceil_divide(std::min(rows.panel, nest.width), lanes));
  work.panel = static_cast<double>(bytes_of_panel(images, nest, rows.panel, of_lines ? rows.rows : 1));
  work.apart = has_results_apart(images, nest);
  work.scattered = nest.scattered;
  return work;
}

/// Bytes of the second cache that stay for a panel or a list.
double kept_bytes(const Target& target) {
  constexpr double share = 0.7;
  return share * static_cast<double>(target.second_cache_bytes);
}

bool is_copied(const KnobValues& point) {
  return number_of_knob(point, "copy", number_of(CpuCopy::none)) != number_of(CpuCopy::none);
}

/// Cycles of the entries: what is read once for each and where the image's element is, a multiplication for
/// each of its vectors, and the chain of additions where sums are few.
void add_entries(Parts& parts, const ProblemSummary& problem, const CpuRows& rows, const RowsWork& work,
                 double cycle) {
  constexpr double of_entry = 1, of_place = 6, of_gathered = 0.3, of_vector = 1.25, of_half = 0.6;
  constexpr double of_chain = 0.4, latency_of_addition = 4;
  const bool gathered = rows.panel == 1 && rows.groups >= least_gathered;
  const double entries = static_cast<double>(problem.stored) * work.walks * (gathered ? of_gathered : 1);
  const double waited = std::max(0.0, latency_of_addition / static_cast<double>(rows.groups) - work.vectors);
  parts.add(Resource::latency,
            cycle * entries * (of_entry + (work.in_windows ? of_place : 0) + of_chain * waited));
  parts.add(Resource::units,
            cycle * entries * work.vectors * (of_vector + (is_half(problem.dtype) ? of_half : 0)));
}

/// Cycles of the sums: adding up groups and storing.
void add_sums(Parts& parts, const ProblemSummary& problem, const CpuRows& rows, const RowsWork& work,
              double cycle) {
  constexpr double of_sum = 3.5, of_half = 6, of_group = 1;
  const double sums = static_cast<double>(problem.m) * work.walks * work.vectors;
  const double of_groups = rows.groups > 1 ? of_group * static_cast<double>(rows.groups) : 0;
  parts.add(Resource::units, cycle * sums * (of_sum + (is_half(problem.dtype) ? of_half : 0) + of_groups));
  if (work.apart)
    parts.add(Resource::units, cycle * static_cast<double>(problem.m) * static_cast<double>(problem.n) *
                                   cycles_of_result_apart);
}

/// What a vector of the dense operand costs that is not in the first cache, or lies apart or on far pages.
void add_dense(Parts& parts, const ProblemSummary& problem, bool copied, const RowsWork& work,
               const Target& target, double cycle) {
  constexpr double beyond_first = 0.7, beyond_second = 2, beyond_pages = 0.6, of_scattered = 10;
  const double vectors = static_cast<double>(problem.stored) * work.walks * work.vectors;
  const double bytes =
      static_cast<double>(problem.dense_elements) * static_cast<double>(size_of(problem.dtype));
  if (work.panel > static_cast<double>(target.first_cache_bytes))
    parts.add(Resource::shared_memory, cycle * vectors * beyond_first);
  if (work.panel > kept_bytes(target)) parts.add(Resource::l2, cycle * vectors * beyond_second);
  if (copied) return;
  if (work.scattered)
    parts.add(Resource::latency, cycle * vectors * of_scattered);
  else if (bytes > static_cast<double>(known_pages))
    parts.add(Resource::l2, cycle * vectors * beyond_pages);
}

/// About how long a point takes on one core: its entries, sums and vectors, the copies, and the lists as
/// often as panels read them. Fitted, and then mended by hand, to 664 points of an AMD and 1,025 of an Intel
/// processor (docs/measurements/cpu.md).
Bound time_of_cpu_rows(const ProblemSummary& problem, const KnobValues& point, const Target& target,
                       const Ceilings& ceilings) {
  const std::int64_t usual = std::min<std::int64_t>(64, power_of_two_from(problem.n));
  const CpuRows rows{.panel = number_of_knob(point, "panel", usual),
                     .rows = number_of_knob(point, "rows", 1),
                     .groups = number_of_knob(point, "groups", 1)};
  const RowsWork work = work_of(problem, rows, target);
  const double cycle = 1e6 / ceilings.cycles_a_second;
  const auto bytes = static_cast<double>(size_of(problem.dtype));
  Parts parts(ceilings);
  add_entries(parts, problem, rows, work, cycle);
  add_sums(parts, problem, rows, work, cycle);
  add_dense(parts, problem, is_copied(point), work, target, cycle);
  constexpr double of_copied = 6;  // times as long as reading
  if (is_copied(point))
    parts.add(Resource::launch, 1e6 * of_copied * static_cast<double>(problem.dense_elements) * bytes /
                                    ceilings.l2_bytes_a_second);
  constexpr double ahead = 0.5;
  const bool again = number_of_knob(point, "order", number_of(CpuOrder::rows)) == number_of(CpuOrder::panels);
  const double list =
      static_cast<double>(problem.stored) * (bytes + static_cast<double>(problem.column_bits) / 8);
  if (list > kept_bytes(target))
    parts.add(Resource::memory, 1e6 * ahead * list * (again ? work.walks : 1) / ceilings.bytes_a_second);
  parts.add(Resource::launch, ceilings.launch_microseconds);
  return parts.sum();
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
      .why_not = why_not_in_order<why_no_cpu_rows>,
      .choices = choices_in_order<cpu_rows_choices>,
      .choose = choice_in_order<choose_rows>,
      .write = written<CpuRows, cpu_rows, cpu_rows_knobs>,
      .time = time_of_cpu_rows,
  };
}

}  // namespace weft
