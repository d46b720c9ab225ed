#include <fmt/format.h>
#include <weft/scheduler/recipes/list.h>
#include <weft/scheduler/recipes/parts/written.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/search/model/predict.h>

#include <optional>

namespace weft {
namespace {

/// The schedule of a configuration, or nothing and the reason.
std::optional<Prediction> tried(const Configuration& configuration, const SpaceProblem& problem,
                                const Target& target, std::string& reason) {
  try {
    const Space space = space_of(configuration.recipe, problem, target);
    if (const Constraint* violated = space.violated(configuration.point)) {
      reason = fmt::format("{}: {}", violated->name, violated->text);
      return std::nullopt;
    }
    return Prediction{
        space.schedule(configuration.point), space.text(configuration.point), configuration.point, true, {}};
  } catch (const UserError& error) {
    // A recipe that has no space here, knobs of another version, a step that refuses.
    reason = error.report().found.empty() ? error.report().what
                                          : error.report().what + ": " + error.report().found;
    return std::nullopt;
  }
}

/// What the recipe for the format chooses for itself.
Prediction unasked(const SpaceProblem& problem, const Target& target) {
  const auto weights = std::make_shared<const SparseTensor>(pack(*problem.matrix, problem.format));
  const Recipe& recipe = recipe_for(problem.format);
  // What a recipe for GPUs makes for a CPU is the default schedule, by whose name it is asked for.
  if (recipe.of_gpus && !target.is_gpu())
    return {default_schedule(problem.algorithm, weights, target), "default", {}, false, {}};
  try {
    return {
        schedule_by(recipe, problem.algorithm, weights, target, {}), std::string(recipe.name), {}, false, {}};
  } catch (const UserError&) {
    return {default_schedule(problem.algorithm, weights, target), "default", {}, false, {}};
  }
}

}  // namespace

Prediction predict(const Predictor& predictor, const SpaceProblem& problem, const Target& target,
                   const DeviceNumbers& device, CallPlace place) {
  return user_call(place, [&] {
    const ProblemSummary summary = summary_of(problem.algorithm, *problem.matrix, problem.format, 4096);
    std::vector<Prediction::PassedOver> passed_over;
    for (const int number : predictor.ranking(features_of(summary, device))) {
      const Configuration& configuration = predictor.classes[number];
      std::string reason;
      if (std::optional<Prediction> found = tried(configuration, problem, target, reason)) {
        found->passed_over = std::move(passed_over);
        return std::move(*found);
      }
      passed_over.push_back({configuration.text(), reason});
    }
    Prediction found = unasked(problem, target);
    found.passed_over = std::move(passed_over);
    return found;
  });
}

}  // namespace weft
