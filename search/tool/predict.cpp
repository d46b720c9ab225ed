// weft predict: which schedule suits a problem that was never measured.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/dsl/errors.h>
#include <weft/search/model/bound.h>
#include <weft/search/model/predict.h>
#include <weft/search/model/shipped_predictor.h>
#include <weft/search/tool/flags.h>
#include <weft/search/tool/options.h>
#include <weft/search/tool/table.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

namespace weft::tool {
namespace {

struct PredictVerb {
  ProblemOptions problem;
  std::string target;
  bool json = false;
};

/// From the sizes of a problem to the number of a class, the mean of many.
double decision_nanoseconds(const Predictor& predictor, const ProblemSummary& summary,
                            const DeviceNumbers& device) {
  constexpr int times = 10'000;
  using Clock = std::chrono::steady_clock;
  [[maybe_unused]] volatile int kept = 0;
  const Clock::time_point begin = Clock::now();
  for (int i = 0; i < times; ++i) kept = predictor.ranking(features_of(summary, device)).front();
  const std::chrono::duration<double, std::nano> spent = Clock::now() - begin;
  return spent.count() / times;
}

/// What the fitted times say of a configuration; nothing where they do not know it or the kind of problem.
std::optional<double> fitted_time(const Predictor& predictor, const KnobValues& point,
                                  const FeatureValues& values) {
  for (const FittedTimes::Expected& one : predictor.times.ranking(values)) {
    if (predictor.classes[one.number].point == point) return one.microseconds;
  }
  return std::nullopt;
}

/// Each reason once.
void print_passed_over(const Prediction& found) {
  std::map<std::string, int> reasons;
  for (const Prediction::PassedOver& one : found.passed_over) ++reasons[one.reason];
  for (const auto& [reason, times] : reasons)
    fmt::print(stderr, "passed over {} {}: {}\n", times, times == 1 ? "configuration" : "configurations",
               reason);
}

nlohmann::ordered_json json_of_passed_over(const Prediction& found) {
  auto json = nlohmann::ordered_json::array();
  for (const Prediction::PassedOver& one : found.passed_over)
    json.push_back({{"recipe", one.configuration}, {"reason", one.reason}});
  return json;
}

int run(const PredictVerb& options) {
  const Predictor predictor = named_predictor(options.problem);
  const bool named = !options.target.empty() || predictor.training.targets.empty();
  const Target& target = named_target(named ? options.target : predictor.training.targets.front());
  warn_of_target(predictor, target);
  SpaceProblem what = make_space_problem(options.problem);
  if (options.problem.format == automatic) {
    const Choice choice = choice_of(what.algorithm, *what.matrix, options.problem, target);
    what.format = choice.ways.front().format;
    if (target.is_gpu()) fmt::print(stderr, "chosen for {}: {}\n", target.name, choice.text());
  }
  const DeviceNumbers device = device_numbers(target);
  const Prediction found = predict(predictor, what, target, device);
  const ProblemSummary summary = summary_of(what.algorithm, *what.matrix, what.format);
  const FeatureValues values = features_of(summary, device);
  const DecisionTree::Node& leaf = predictor.tree.nodes()[predictor.tree.leaf_of(values)];
  const std::optional<double> fitted = fitted_time(predictor, found.point, values);
  const double nanoseconds = decision_nanoseconds(predictor, summary, device);
  const std::string name = found.recipe.substr(0, found.recipe.find(':'));
  const Bound bound = bound_of(summary, name, found.point, target);
  const char* from = !found.from_predictor ? "default" : fitted ? "times" : "tree";
  if (options.json) {
    nlohmann::ordered_json json{
        {"recipe", found.recipe},
        {"config", found.point},
        {"format", what.format.text()},
        {"from", from},
        {"passed_over", json_of_passed_over(found)},
        {"target", target.name},
        {"leaf", {{"problems", leaf.samples}, {"untried", leaf.untried}, {"slow_down", leaf.slow_down}}},
        {"decision_ns", nanoseconds},
        {"bound_us", bound.microseconds},
        {"bound_by", name_of(bound.by)}};
    if (fitted) json["fitted_us"] = *fitted;
    fmt::print("{}\n", json.dump(2));
    return exit_ok;
  }
  print_passed_over(found);
  if (!found.from_predictor)
    fmt::print(stderr, "no configuration of the predictor fits: what the recipe chooses for itself\n");
  fmt::print("{}\nin {}, decided in {:.0f} ns; {}\n", found.recipe, what.format.text(), nanoseconds,
             fitted ? "about " + text_of_microseconds(*fitted) + " by the fitted times"
                    : "leaf of " + score_of_leaf(leaf));
  if (target.is_gpu())
    fmt::print("about {} by the analytic bound, {} bounds it\n", text_of_microseconds(bound.microseconds),
               name_of(bound.by));
  return exit_ok;
}

}  // namespace

void add_predict(CLI::App& app, Action& action) {
  const auto [verb, options] = new_verb<PredictVerb>(
      app, action, "predict", "a schedule for a problem that was never measured",
      "Prints a recipe with its knobs, as --recipe takes it. It always fits the target: where the first\n"
      "choice does not, the next is taken, and at last what the recipe chooses for itself.\n"
      "Without --format it is asked for the format that weft run would choose.\n"
      "Example: weft predict --tree tree.json --weights ffn1.npy --dtype f16 --n 196",
      run);
  add_problem_flags(verb, options.problem);
  add_option(verb, "--tree", options.problem.tree, "what weft train wrote; the predictor that ships");
  add_option(verb, "--target", options.target, "see weft targets; the first that the predictor learnt from");
  begin_group(verb, "Output");
  add_json_flag(verb, options.json);
}

}  // namespace weft::tool
