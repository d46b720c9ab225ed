#include <weft/scheduler/hardware/device.h>
#include <weft/scheduler/recipes/grouped/shfl_bw.h>
#include <weft/scheduler/recipes/list.h>
#include <weft/scheduler/recipes/unstructured/choices.h>
#include <weft/search/model/bound.h>
#include <weft/search/model/dense_bound.h>
#include <weft/search/model/known_error.h>
#include <weft/search/model/learnt_times.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace weft {
namespace {

/// Every comparison was made on an H200.
bool was_measured(const Target& target) {
  constexpr int sm_of_h200 = 90;
  return target.is_gpu() && target.sm == sm_of_h200;
}

bool is_list(const Format& format) {
  return format.name == "csr" || format.name == "dense";
}

std::int64_t number(const KnobValues& point, const char* knob) {
  const auto found = point.find(knob);
  return found == point.end() ? 0 : found->second;
}

/// By 68 kernels of seven problems and 92 of six, and 512 x 512 x 4096, where no schedule of f16 was better.
double sparsert_of_halves(const ProblemSummary& problem, SparseRtForm form) {
  constexpr std::int64_t many_columns = 512;
  if (!is_half(problem.dtype)) return 1;
  if (form == SparseRtForm::row_per_warp) return 1.35;
  return problem.n >= many_columns ? 2.7 : 1;
}

/// Two of four on images, which no format for them gathers in vectors: seven convolutions took 16 to 1,409
/// us, two of them 11 and 92 times what the bound times the usual error says.
constexpr double images_of_pairs = 10;

/// Of shfl_bw and v_n_m, by the bytes of a row of the dense operand.
double of_tiles(const ProblemSummary& problem, std::string_view recipe, const KnobValues& point) {
  struct Usual {
    std::string_view recipe;
    double aligned, even, odd;  ///< multiples of 16, of 4, others
  };
  constexpr std::array<Usual, 2> all{{{"shfl_bw", 1.4, 1.6, 1.2}, {"v_n_m", 1.0, 1.65, 1.1}}};
  constexpr double without_producers = 1.3, without_their_registers = 1.05, of_shared_wgmma = 1.5;
  const Usual& found = *std::ranges::find(all, recipe, &Usual::recipe);
  const bool shared = number(point, "groups") > 1;
  const bool by_warpgroups = number(point, "instruction") == number_of(ShflBwInstruction::wgmma);
  const std::int64_t columns = with_copied_rows(problem).n;
  const double usual = columns % 8 == 0 ? found.aligned : columns % 2 == 0 ? found.even : found.odd;
  if (shared) return usual * (by_warpgroups ? of_shared_wgmma : 1);
  if (columns % 2 != 0 || point.empty()) return usual;
  if (number(point, "producers") == 0) return usual * without_producers;
  return usual * (number(point, "consumer_registers") == 0 ? without_their_registers : 1);
}

/// Of sparsert, by how it reads the weights.
double of_form(SparseRtForm form) {
  switch (form) {
    case SparseRtForm::streaming: return 1.75;
    case SparseRtForm::pieces: return 1;
    case SparseRtForm::row_per_warp: return 1.08;
    default: return 1.15;
  }
}

/// On a CPU, where the recipes of lists have models. For others a rough rate: rows of lists beat dense
/// products from half of the weights on, and other formats are there for other machines.
double time_on_cpu(const ProblemSummary& problem, const Format& format, std::string_view recipe,
                   const KnobValues& point, const Target& target, const Ceilings& ceilings) {
  constexpr double dense_rate = 100'000, other_rate = 10'000;
  const double bound = bound_of(problem, recipe, point, target, ceilings).microseconds;
  if (format.name != "csr" && (recipe == "default" || format.name == "dense")) {
    const double usual = bound_of(problem, recipe, {}, target, ceilings).microseconds;
    return (1 + problem.operations() / (format.name == "dense" ? dense_rate : other_rate)) * bound / usual;
  }
  if (recipe != "default") return bound;
  // About the medians of 65 products and 85 images in f32 and of 20 and 15 in 16 bits, two processors alike
  // but for the images (docs/measurements/cpu.md).
  const bool half = is_half(problem.dtype);
  if (problem.convolution) return bound * (half ? 16 : 8);
  const std::int64_t n = std::max<std::int64_t>(1, problem.n);
  const std::int64_t lanes = target.vector_bytes / static_cast<std::int64_t>(sizeof(float));
  const double filled = static_cast<double>(bounds::filled_up(n, lanes)) / static_cast<double>(n);
  return bound * filled * (half ? 3.1 : 2.3);
}

bool uses_tensor_cores(std::string_view recipe) {
  return recipe == "shfl_bw" || recipe == "v_n_m" || recipe == "hb_ell";
}

/// What was measured over what was expected of kernels that were chosen, of problems that were left out of
/// what expected times were learnt from: what the command of shipped_times() prints, now of 1,930
/// searches and before of 1,921 and 1,801, and with h200_choice_study.jsonl as its first file of that study,
/// whichever is widest (docs/measurements/search.md). 19 of 20 lie within, or all of fewer than 30.
struct ErrorOfChosen {
  std::string_view recipe;
  bool of_halves, of_images;
  KnownError error;
};
constexpr std::array<ErrorOfChosen, 8> errors_of_chosen{{
    {"sparsert", false, false, {0.7, 1.7}},
    {"sparsert", false, true, {0.64, 1.93}},
    {"sparsert", true, false, {0.73, 1.53}},
    {"sparsert", true, true, {0.69, 1.82}},
    {"shfl_bw", true, false, {0.73, 2}},
    {"shfl_bw", true, true, {0.69, 2.02}},
    {"v_n_m", true, false, {0.78, 1.51}},
    {"v_n_m", true, true, {0.66, 1.75}},
}};

/// Of hb_ell among them: the least and the most of v_n_m in 35 problems that were left out, where hb_ell was
/// what took the most.
constexpr KnownError error_of_pairs_of_blocks{0.72, 2.1};

/// Of 32 kernels of f32, f16 and bf16, each of another problem (docs/measurements/choice.md).
constexpr KnownError error_of_sliced_rows{0.66, 1.45};

/// Of 740 kernels of four products with 8 to 32 columns (docs/measurements/few_columns.md).
constexpr KnownError error_of_lane_streams{0.8, 1.4};

/// What columns that lie apart in memory cost the default schedule, which reads them so: the model takes them
/// for neighbours. Medians of six products on an H100 (docs/measurements/choice.md).
double cost_of_layout(const ProblemSummary& problem, std::string_view recipe) {
  constexpr double of_input = 9.8, of_output = 1.6;
  if (recipe != "default") return 1;
  return problem.input_across ? of_input : problem.output_across ? of_output : 1;
}

bool is_of_groups(std::string_view recipe) {
  return recipe == "shfl_bw" || recipe == "v_n_m";
}

bool lies_across(const ProblemSummary& problem) {
  return problem.input_across || problem.output_across;
}

}  // namespace

double time_of_copying(const ProblemSummary& problem, std::string_view recipe, const KnobValues& point,
                       const Ceilings& ceilings) {
  constexpr double usual = 1.2;
  if (recipe == "default") return 0;
  const double bytes = 2.0 * static_cast<double>(size_of(problem.dtype));
  const auto of = [&](bool across, double elements) {
    return across ? usual * (ceilings.launch_microseconds + elements * bytes / ceilings.bytes_a_second * 1e6)
                  : 0;
  };
  // Its lanes read rows of [n, k]; results of either layout leave as they are.
  if (recipe == "lane_streams")
    return of(!problem.input_across && problem.n > 1, static_cast<double>(problem.dense_elements));
  const bool images = (problem.images_across && uses_tensor_cores(recipe)) ||
                      (problem.images_fill_warps && recipe == "sparsert");
  const bool aligns = is_of_groups(recipe), leaves = aligns && problem.leaves_runs_of_rows();
  const Recipe* known = recipe_named(recipe);
  // Recipes of a CPU transpose a few results, too.
  const bool of_cpu = known != nullptr && known->of_cpus;
  const bool reads = aligns && (problem.reads_runs_of_the_sum() || number(point, "elements") > 0);
  const bool turns = of_cpu ? problem.output_across : problem.output_transposed && !leaves;
  const bool aligned = aligns && problem.input_unaligned && !reads;
  return of((problem.input_across && !reads) || images || aligned,
            static_cast<double>(problem.dense_elements)) +
         of(turns || images || (aligns && problem.output_unaligned),
            static_cast<double>(problem.m) * static_cast<double>(problem.n));
}

double time_of_copying_apart(const ProblemSummary& problem, std::string_view recipe, const KnobValues& point,
                             const Ceilings& ceilings) {
  return problem.convolution ? 0 : time_of_copying(problem, recipe, point, ceilings);
}

ProblemSummary seen_by(std::string_view recipe, const ProblemSummary& problem) {
  return is_of_groups(recipe) ? with_copied_rows(problem) : problem;
}

std::optional<KnownError> error_of_bound(const ProblemSummary& problem, const Format& format,
                                         std::string_view recipe, const Target& target) {
  if (!was_measured(target) || problem.convolution) return std::nullopt;
  if (recipe == "lane_streams") return error_of_lane_streams;
  if (lies_across(problem)) return std::nullopt;
  if (recipe == "sparsert" && problem.dtype == DType::f32) return KnownError{0.6, 3.5};
  if (recipe == "default" && format.name == "csr" && problem.dtype == DType::f32) return KnownError{0.45, 5};
  if (recipe == "sliced_rows" && problem.dtype != DType::f64) return error_of_sliced_rows;
  // Those on tensor cores were compiled for targets with wgmma.
  if (!uses_tensor_cores(recipe) || !target.has(Capability::warpgroup_tensor_cores)) return std::nullopt;
  return recipe == "hb_ell" ? KnownError{0.85, 1.55} : KnownError{0.83, 1.18};
}

double usual_error_of_bound(const ProblemSummary& problem, const Format& format, std::string_view recipe,
                            const KnobValues& point, const Target& target) {
  // The default schedule knows nothing of tensor cores, and little of formats that are for them.
  constexpr double of_lists = 0.76, of_other_formats = 14;
  // Seven convolutions took 7 to 62 times what the bound times `of_lists` says, 21 in the middle.
  constexpr double on_images = 20;
  if (recipe == "default")
    return is_list(format) ? of_lists * (problem.convolution ? on_images : 1) : of_other_formats;
  if (recipe == "sparsert" && problem.of_images != nullptr) return 1;
  if (recipe == "sparsert") {
    const SparseRtForm form = bounds::form_of(problem, point, target);
    return of_form(form) * sparsert_of_halves(problem, form);
  }
  if (!uses_tensor_cores(recipe) || recipe == "hb_ell") return 1;
  const bool pairs_of_image = problem.convolution && recipe == "v_n_m";
  return of_tiles(problem, recipe, point) * (pairs_of_image ? images_of_pairs : 1);
}

double modelled_time(const ProblemSummary& problem, const Format& format, std::string_view recipe,
                     const KnobValues& point, const Target& target, const Ceilings& ceilings) {
  if (!target.is_gpu()) return time_on_cpu(problem, format, recipe, point, target, ceilings);
  return time_of_copying(problem, recipe, point, ceilings) +
         cost_of_layout(problem, recipe) * usual_error_of_bound(problem, format, recipe, point, target) *
             bound_of(problem, recipe, point, target, ceilings).microseconds;
}

namespace {

/// Null where nothing was learnt of kernels of the recipe on such a target.
const LearntTimes* learnt_times(std::string_view recipe, const Target& target) {
  const LearntTimes& times = target.is_gpu() ? shipped_times() : shipped_cpu_times();
  return times.is_of(recipe, target) ? &times : nullptr;
}

}  // namespace

bool has_learnt_times(std::string_view recipe, const Target& target) {
  return learnt_times(recipe, target) != nullptr;
}

double expected_time(const ProblemSummary& problem, const Format& format, std::string_view recipe,
                     const KnobValues& given, const Target& target, const Ceilings& ceilings) {
  const LearntTimes* const times = learnt_times(recipe, target);
  if (times == nullptr) return modelled_time(problem, format, recipe, given, target, ceilings);
  const KnobValues point = filled_point(problem, recipe, given, target);
  const Bound bound = bound_of(problem, recipe, point, target, ceilings);
  const double apart = time_of_copying_apart(problem, recipe, point, ceilings);
  const double modelled = time_of_copying(problem, recipe, point, ceilings) - apart +
                          usual_error_of_bound(problem, format, recipe, point, target) * bound.microseconds;
  return apart +
         cost_of_layout(problem, recipe) * modelled *
             times->correction({seen_by(recipe, problem), format, recipe, point, bound, modelled, target});
}

std::optional<KnownError> error_of_expected_time(const ProblemSummary& problem, const Format& format,
                                                 std::string_view recipe, const KnobValues& point,
                                                 const Target& target) {
  if (!was_measured(target) || lies_across(problem) ||
      (uses_tensor_cores(recipe) && !target.has(Capability::warpgroup_tensor_cores)))
    return std::nullopt;
  // Those of times that were learnt.
  if (has_learnt_times(recipe, target) && format.name == "hb_ell") return error_of_pairs_of_blocks;
  for (const ErrorOfChosen& one : errors_of_chosen) {
    if (has_learnt_times(recipe, target) && one.recipe == recipe &&
        one.of_halves == is_of_tensor_cores(problem.dtype) && one.of_images == problem.convolution)
      return one.error;
  }
  constexpr double spread = 1.8;
  const std::optional<KnownError> error = error_of_bound(problem, format, recipe, target);
  if (!error || recipe == "sliced_rows") return error;
  const double usual = usual_error_of_bound(problem, format, recipe, point, target);
  return KnownError{std::min(error->least / usual, 1 / spread), std::max(error->most / usual, spread)};
}

double reluctance_to(const ProblemSummary& problem, const Format& format, std::string_view recipe,
                     const Target& target) {
  constexpr double without_benefit = 2, seldom_the_best = 1.15, never_compared = 1.5;
  // Blocks of pairs were the fastest of all in 55 of 778 problems where they were tried.
  constexpr double pairs_of_blocks = 1.1;
  // A rough count, far too low for few columns.
  constexpr double of_other_formats = 10;
  if (!target.is_gpu()) return recipe != "default" ? 1 : is_list(format) ? without_benefit : of_other_formats;
  if (has_learnt_times(recipe, target))
    return recipe == "default" ? seldom_the_best : format.name == "hb_ell" ? pairs_of_blocks : 1;
  return (recipe == "default" ? without_benefit : 1) *
         (error_of_bound(problem, format, recipe, target) ? 1 : never_compared);
}

KnownError error_of_samples(const TrialTime& time) {
  const bool spread = time.minimum > 0 && time.percentile_95 >= time.median && time.median >= time.minimum;
  return spread ? KnownError{time.minimum / time.median, time.percentile_95 / time.median} : KnownError{};
}

std::optional<KnownError> error_of_dense_bound(const ProblemSummary& problem, const Target& target) {
  const DenseKind kind = dense_kind_of(problem);
  if (!was_measured(target)) return std::nullopt;
  // The library takes whole runs of 16 bytes alone.
  constexpr std::int64_t run = 16;
  if (kind == DenseKind::bytes &&
      (problem.dtype == DType::i8 || problem.k % run != 0 || problem.m % run != 0))
    return std::nullopt;
  // In the order of DenseKind; nine tenths of what was held out lie within.
  constexpr std::array<KnownError, 8> of_kinds{{{0.86, 1.22},
                                                {0.83, 1.31},
                                                {0.8, 1.22},
                                                {0.82, 1.5},
                                                {0.79, 1.23},
                                                {0.7, 1.95},
                                                {0.74, 1.32},
                                                {0.73, 1.23}}};
  return of_kinds[static_cast<std::size_t>(kind)];
}

std::optional<KnownError> error_of_simulator(std::string_view recipe, const Target& target) {
  if (!was_measured(target) || uses_tensor_cores(recipe)) return std::nullopt;
  return KnownError{0.51, 1.59};
}

std::string_view name_of(Faster faster) {
  constexpr std::array<std::string_view, 3> names{"sparse", "dense", "none"};
  return names[static_cast<std::size_t>(faster)];
}

Comparison compared(double ratio, const KnownError& dense, const KnownError& sparse) {
  const double least = std::exp(-std::hypot(std::log(dense.least), std::log(sparse.most)));
  const double most = std::exp(std::hypot(std::log(dense.most), std::log(sparse.least)));
  Comparison comparison{Faster::none, std::max(1 / least, most)};
  if (ratio * least > 1) comparison.faster = Faster::kernel;
  if (ratio * most < 1) comparison.faster = Faster::dense;
  return comparison;
}

}  // namespace weft
