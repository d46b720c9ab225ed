// Formats and kernels of a command line that names none, or only some.
#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/program/overlapped.h>
#include <weft/search/choice/choice.h>
#include <weft/search/measure/trial_problem.h>
#include <weft/search/tool/flags.h>
#include <weft/search/tool/given_files.h>
#include <weft/search/tool/options.h>
#include <weft/search/tool/recipe.h>
#include <weft/search/tool/sizes.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace weft::tool {
namespace {

std::vector<StoredRecord> trials_of(const ProblemOptions& options) {
  if (options.databases.empty()) return {};
  return of_option("--db", [&] { return records_of_files(options.databases); });
}

/// Leaves those of the same problem, whatever the device and versions: it is chosen before a device is
/// opened.
void keep_trials_of(const Algorithm& algorithm, const WeightMatrix& matrix, const ProblemOptions& options,
                    const Target& target, std::vector<StoredRecord>& trials) {
  if (trials.empty()) return;
  TrialProblem problem;
  problem.kernel = options.op;
  problem.what = {algorithm, std::make_shared<const WeightMatrix>(matrix), formats::csr()};
  problem.columns = summary_of(algorithm, matrix, formats::csr()).n;
  const Record common = record_for(problem, target, target.is_gpu() ? "gpu" : "cpu", nullptr);
  std::erase_if(trials, [&](const StoredRecord& stored) {
    const Record& record = stored.record;
    return record.kernel != common.kernel || record.problem != common.problem ||
           record.pattern.hash != common.pattern.hash || record.target.name != common.target.name ||
           record.measure != common.measure;
  });
}

/// By n, of trials of one way that ended right.
std::map<std::int64_t, double> measured_times(const Problem& problem, const ProblemOptions& options,
                                              const Target& target, const Way& way) {
  std::map<std::int64_t, std::vector<StoredRecord>> by_size;
  for (StoredRecord& trial : trials_of(options)) {
    const Record& record = trial.record;
    if (record.recipe == way.recipe->name && record.config == way.point.value_or(KnobValues()) &&
        record.pattern.kind == way.format.text() && record.time_of_correct())
      by_size[record.problem.size("N")].push_back(std::move(trial));
  }
  std::map<std::int64_t, double> times;
  for (auto& [n, trials] : by_size) {
    if (n < 1) continue;
    keep_trials_of(with_size(problem.algorithm, "n", n), problem.matrix, options, target, trials);
    if (!trials.empty()) times[n] = *trials.front().record.time_of_correct();
  }
  return times;
}

/// Row lists; where nearly nothing is pruned, every element is stored.
Format list_format(const WeightMatrix& matrix) {
  constexpr double little_pruned = 0.3;
  return matrix.sparsity() < little_pruned ? formats::dense() : formats::csr();
}

/// What one target makes of the formats, the best way of each.
std::map<std::string, Way> best_of_formats(const Choice& choice) {
  std::map<std::string, Way> best;
  for (const Way& way : choice.ways) best.try_emplace(way.format.text(), way);
  return best;
}

/// Of the formats that all targets have a way for the one of the least product of times.
Format common_format(const std::vector<Choice>& choices) {
  std::map<std::string, double> sums;
  for (const auto& [name, way] : best_of_formats(choices.front())) sums[name] = std::log(way.rank());
  for (std::size_t i = 1; i < choices.size(); ++i) {
    const std::map<std::string, Way> others = best_of_formats(choices[i]);
    std::erase_if(sums, [&](const auto& one) { return !others.contains(one.first); });
    for (auto& [name, sum] : sums) sum += std::log(others.at(name).rank());
  }
  if (sums.empty()) return choices.front().ways.front().format;
  return parse_format(
      std::ranges::min_element(sums, {}, &std::pair<const std::string, double>::second)->first);
}

void tell(const Choice& choice, const Target& target) {
  if (target.is_gpu()) fmt::print(stderr, "chosen for {}: {}\n", target.name, choice.text());
}

/// The choice and what `make` makes of the schedule of its first way that fits.
template <class Make>
auto chosen(const Algorithm& algorithm, const Problem& problem, const ProblemOptions& options,
            const Target& target, std::optional<Way>* taken, const Make& make) {
  Choice choice = choice_of(algorithm, problem.matrix, options, target);
  auto made = first_that_fits(choice, [&](const Way& way) {
    return make(as_asked(schedule_of_way(way, algorithm, problem.matrix, problem.weights, target), options));
  });
  tell(choice, target);
  if (taken != nullptr) *taken = choice.first();
  return made;
}

bool is_chosen(const ProblemOptions& options) {
  return options.schedule.empty() && options.recipe == automatic;
}

}  // namespace

Predictor named_predictor(const ProblemOptions& options) {
  if (options.tree.empty()) return shipped_predictor();
  refuse_own_file("--tree", options.tree, "a file that weft train wrote");
  return of_option("--tree", [&] { return predictor_of(text_of_file(options.tree), options.tree); });
}

void warn_of_target(const Predictor& predictor, const Target& target) {
  const std::vector<std::string>& known = predictor.training.targets;
  if (std::ranges::find(known, target.name) != known.end()) return;
  fmt::print(stderr, "the predictor learnt from {} and has not seen {}\n", fmt::join(known, ", "),
             target.name);
}

Choice choice_of(const Algorithm& algorithm, const WeightMatrix& matrix, const ProblemOptions& options,
                 const Target& target, std::size_t points) {
  std::vector<StoredRecord> trials = trials_of(options);
  keep_trials_of(algorithm, matrix, options, target, trials);
  if (trials.empty() && !options.databases.empty())
    fmt::print(stderr, "note: --db {} has no trial of these weights and sizes on {}\n",
               fmt::join(options.databases, " "), target.name);
  ChoiceOptions with{.records = trials, .points = points, .image_groups = options.groups};
  std::optional<Predictor> given;
  if (!options.tree.empty()) {
    given = named_predictor(options);
    warn_of_target(*given, target);
    with.predictor = &*given;
  }
  if (options.format != automatic)
    with.formats = {of_option("--format", [&] { return parse_format(options.format); })};
  if (options.recipe != automatic) with.recipes = {parse_recipe(options.recipe).recipe->name};
  // Of all ways there is one; only a format and a recipe that are named may leave none.
  const auto make = [&] { return choose(algorithm, matrix, target, with); };
  return options.recipe != automatic   ? of_option("--recipe", make)
         : options.format != automatic ? of_option("--format", make)
                                       : make();
}

Format chosen_format(const Algorithm& algorithm, const WeightMatrix& matrix, const ProblemOptions& options,
                     const ChosenFor& chosen_for) {
  if (options.format != automatic) return of_option("--format", [&] { return parse_format(options.format); });
  if (chosen_for.targets.empty()) return list_format(matrix);
  const Algorithm sized = chosen_for.columns > 0 ? with_size(algorithm, "n", chosen_for.columns) : algorithm;
  std::vector<Choice> choices;
  for (const Target* target : chosen_for.targets) {
    try {
      choices.push_back(choice_of(sized, matrix, options, *target));
    } catch (const UserError&) {
      if (options.recipe == automatic) throw;
      return list_format(matrix);  // the recipe says later why it does not fit
    }
  }
  return choices.size() == 1 ? packed_format(choices.front().ways.front()) : common_format(choices);
}

Schedule as_asked(Schedule schedule, const ProblemOptions& options) {
  if (!options.overlap_launches) return schedule;
  if (!schedule.target().has(Capability::dependent_launches))
    fmt::print(stderr, "note: launches on {} do not overlap: those of sm_90 and newer do\n",
               schedule.target().name);
  return overlapped(std::move(schedule));
}

Schedule schedule_of(const Problem& problem, const ProblemOptions& options, const Target& target) {
  return schedule_of(problem.algorithm, problem, options, target);
}

Schedule schedule_of(const Algorithm& algorithm, const Problem& problem, const ProblemOptions& options,
                     const Target& target, std::optional<Way>* taken) {
  if (!options.schedule.empty()) return as_asked(read_schedule(algorithm, problem, options, target), options);
  if (is_chosen(options))
    return chosen(algorithm, problem, options, target, taken, [](Schedule schedule) { return schedule; });
  const RecipeChoice choice = parse_recipe(options.recipe);
  if (taken != nullptr) *taken = Way{problem.weights->format(), choice.recipe, choice.point};
  return as_asked(schedule_by_recipe(choice, algorithm, problem.weights, target), options);
}

Kernel kernel_of(const Algorithm& algorithm, const Problem& problem, const ProblemOptions& options,
                 const Target& target, const KernelOptions& kernel_options, std::optional<Way>* taken) {
  if (!is_chosen(options))
    return compile(schedule_of(algorithm, problem, options, target, taken), kernel_options);
  return chosen(algorithm, problem, options, target, taken,
                [&](const Schedule& schedule) { return compile(schedule, kernel_options); });
}

std::function<double(std::int64_t n)> time_by_size(const Problem& problem, const ProblemOptions& options,
                                                   const Target& target, const Way& way) {
  const ProblemSummary summary = summary_of(with_size(problem.algorithm, "n", 1), problem.matrix, way.format);
  const Ceilings ceilings = ceilings_of(summary.dtype, target);
  return [=, &target, measured = measured_times(problem, options, target, way)](std::int64_t n) {
    if (const auto found = measured.find(n); found != measured.end()) return found->second;
    ProblemSummary of_size = summary;
    of_size.n = n;
    return expected_time(of_size, way.format, way.recipe->name, way.point.value_or(KnobValues()), target,
                         ceilings);
  };
}

}  // namespace weft::tool
