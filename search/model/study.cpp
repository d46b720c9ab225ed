#include <fmt/format.h>
#include <weft/search/model/bound.h>
#include <weft/search/model/classes.h>
#include <weft/search/model/draw.h>
#include <weft/search/model/study.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>

namespace weft {
namespace {

double impact_of(const TimingTable& table, const Score& score) {
  std::map<std::int64_t, double> worst;
  for (std::size_t i = 0; i < table.problems.size(); ++i) {
    const auto [at, fresh] = worst.try_emplace(table.problems[i].summary.m, score.performance[i]);
    at->second = std::min(at->second, score.performance[i]);
  }
  double sum = 0;
  for (const auto& [m, performance] : worst) sum += performance;
  return worst.empty() ? 0 : sum / static_cast<double>(worst.size());
}

/// The time of one call, in the fastest of the passes over all problems that a few milliseconds allow: other
/// work on the machine is not what is asked.
template <class Decide>
double nanoseconds_of(const TimingTable& table, Decide&& decide) {
  using Clock = std::chrono::steady_clock;
  constexpr auto enough = std::chrono::milliseconds(20);
  double fastest = std::numeric_limits<double>::infinity();
  [[maybe_unused]] volatile int kept = 0;
  const Clock::time_point first = Clock::now();
  Clock::time_point begin = first;
  while (begin - first < enough) {
    for (const TimingTable::Problem& problem : table.problems) kept = decide(problem);
    const Clock::time_point end = Clock::now();
    fastest = std::min(fastest, std::chrono::duration<double, std::nano>(end - begin).count());
    begin = end;
  }
  return fastest / static_cast<double>(table.problems.size());
}

class Studying {
 public:
  Studying(const TimingTable& table, const StudyOptions& options,
           const std::function<void(const std::string&)>& progress)
      : table_(table), options_(options), progress_(progress) {}

  Study operator()() {
    const std::vector<std::size_t> matrices = table_.matrices();
    study_.problems = table_.problems.size();
    study_.matrices = matrices.empty() ? 0 : 1 + *std::ranges::max_element(matrices);
    study_.configurations = table_.configurations.size();
    for (const bool normalised : {true, false}) add_tree(normalised);
    for (const bool normalised : {true, false}) add_times(normalised);
    add_others();
    describe();
    return std::move(study_);
  }

 private:
  ValidationOptions validation(bool normalised) const {
    ValidationOptions options = options_.validation;
    options.labelling.normalised = normalised;
    return options;
  }

  void say(const std::string& text) const {
    if (progress_) progress_(text);
  }

  void add(StudyLine line) {
    line.impact = impact_of(table_, line.score);
    study_.lines.push_back(std::move(line));
  }

  void add_tree(bool normalised) {
    say(fmt::format("decision trees, {} classes", normalised ? "normalised" : "raw"));
    const ValidationOptions options = validation(normalised);
    const std::vector<GridPoint> grid = validate_grid(table_, options, options_.heights, options_.leaves);
    const GridPoint& best = smallest_good(grid);
    if (normalised) study_.chosen = best.tree;
    add({"decision tree", true, normalised, distinct(options.labelling(table_)).size(), best.tree,
         best.score});
  }

  void add_times(bool normalised) {
    say(fmt::format("fitted times, {} classes", normalised ? "normalised" : "raw"));
    const ValidationOptions options = validation(normalised);
    add({"fitted times",
         true,
         normalised,
         distinct(options.labelling(table_)).size(),
         {},
         validate_times(table_, study_.chosen, options)});
  }

  void add_others() {
    const ValidationOptions options = validation(true);
    add({"analytic bound", false, false, 0, {}, score_bound(table_, options.labelling)});
    add({"best single", true, true, 1, {}, validate_single(table_, options)});
    if (auto usual = score_usual(table_, options.labelling))
      add({"recipe's choice", false, false, 0, {}, std::move(*usual)});
  }

  void describe() {
    say("order of all configurations");
    study_.order = validate_order(table_, options_.validation.seed);
    say("learning curve");
    const ValidationOptions options = validation(true);
    study_.curve = learning_curve(table_, study_.chosen, options);
    const std::vector<int> labels = options.labelling(table_);
    const Predictor predictor = make_predictor(table_, labels, study_.chosen);
    study_.importance = predictor.tree.importance(feature_count);
    study_.tree_nanoseconds = nanoseconds_of(table_, [&](const TimingTable::Problem& problem) {
      return predictor.tree.predict(features_of(problem.summary, problem.device));
    });
    study_.times_nanoseconds = nanoseconds_of(table_, [&](const TimingTable::Problem& problem) {
      return predictor.ranking(features_of(problem.summary, problem.device)).front();
    });
    const Configuration& one = table_.configurations.front();
    study_.bound_nanoseconds = nanoseconds_of(table_, [&](const TimingTable::Problem& problem) {
      const Target& target = target_named(problem.target);
      return static_cast<int>(bound_of(problem.summary, one.recipe, one.point, target).by);
    });
  }

  const TimingTable& table_;
  const StudyOptions& options_;
  const std::function<void(const std::string&)>& progress_;
  Study study_;
};

}  // namespace

Study study(const TimingTable& table, const StudyOptions& options,
            const std::function<void(const std::string&)>& progress) {
  return Studying(table, options, progress)();
}

}  // namespace weft
