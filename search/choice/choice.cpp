#include <fmt/format.h>
#include <weft/scheduler/limits/points.h>
#include <weft/search/choice/choice.h>
#include <weft/search/choice/formats_worth_trying.h>
#include <weft/search/model/bound.h>
#include <weft/search/model/known_error.h>

#include <algorithm>
#include <utility>

namespace weft {
namespace {

/// Points and parts of points that are looked at for one recipe: some milliseconds.
constexpr std::size_t effort = 400'000;

std::string text_of_time(const Way& way) {
  return fmt::format("{}{:.3g} us", way.measured ? "" : "about ", way.microseconds);
}

/// ":tile_m=64,stages=4"
std::string knob_text(const Recipe& recipe, const KnobValues& point) {
  std::string text;
  for (const RecipeKnob& knob : recipe.knobs) {
    const auto value = point.find(std::string(knob.name));
    if (value == point.end() || knob.word_of(value->second).empty()) continue;
    text += fmt::format("{}{}={}", text.empty() ? ":" : ",", knob.name, knob.word_of(value->second));
  }
  return text;
}

class Chooser {
 public:
  Chooser(const Algorithm& algorithm, const WeightMatrix& weights, const Target& target,
          const ChoiceOptions& options)
      : algorithm_(algorithm),
        // Recipes look at the weights and never change them.
        matrix_(std::shared_ptr<const WeightMatrix>(), &weights),
        target_(target),
        options_(options),
        formats_(options.formats.empty() ? formats_worth_trying(weights) : options.formats) {}

  Choice operator()() {
    Choice choice;
    take_measured(choice);
    for (const Format& format : formats_) add_ways(choice, format);
    if (choice.ways.empty()) refuse();
    std::ranges::stable_sort(choice.ways, {},
                             [](const Way& way) { return std::pair(!way.measured, way.microseconds); });
    if (target_.is_gpu() && !choice.dense) choice.dense = modelled_dense();
    return choice;
  }

 private:
  bool takes(const Recipe& recipe) const {
    return options_.recipes.empty() ||
           std::ranges::find(options_.recipes, recipe.name) != options_.recipes.end();
  }

  void take_measured(Choice& choice) const {
    for (const auto& [record, line] : options_.records) {
      const auto time = record.time_of_correct();
      const Recipe* recipe = recipe_named(record.recipe);
      if (!time || recipe == nullptr || !takes(*recipe)) continue;
      const Format format = parse_format(record.pattern.kind);
      if (!options_.formats.empty() && std::ranges::find(options_.formats, format) == options_.formats.end())
        continue;
      choice.ways.push_back({format, recipe, record.config, *time, true});
      for (const Baseline& baseline : record.baselines) {
        if (baseline.dense && baseline.whose == BaselineOf::library && !choice.dense)
          choice.dense = {baseline.name, baseline.microseconds, true};
      }
    }
  }

  void add_ways(Choice& choice, const Format& format) const {
    const SpaceProblem problem{algorithm_, matrix_, format};
    const ProblemSummary summary = summary_of(algorithm_, *matrix_, format, options_.open_size);
    const Ceilings ceilings = ceilings_of(summary.dtype, target_);
    for (const Recipe& recipe : recipes()) {
      if (!takes(recipe) || !recipe.why_not(problem, target_).empty()) continue;
      const auto time = [&](const KnobValues& point) {
        return expected_time(summary, format, recipe.name, point, target_, ceilings);
      };
      Way unasked{format, &recipe, {}, time({})};
      const RecipeChoices choices = choices_of(problem, recipe);
      const std::optional<Way> best = best_point(problem, recipe, choices, time);
      // Of a device that no kernel was compared on, a recipe is trusted to find about the best of its points.
      if (best && !error_of_bound(summary, format, recipe.name, target_))
        unasked.microseconds = std::min(unasked.microseconds, best->microseconds);
      else if (best)
        add_points(choice, *best, std::min(best->microseconds, unasked.microseconds),
                   predicted_point(recipe, choices, summary));
      choice.ways.push_back(std::move(unasked));
    }
  }

  RecipeChoices choices_of(const SpaceProblem& problem, const Recipe& recipe) const {
    if (recipe.knobs.empty()) return {};
    PackedWeights packed(matrix_);
    return recipe.choices(problem, packed, target_, {});
  }

  /// The predicted point before that of the bound. Its time is what is expected of the recipe anyway, so that
  /// recipes and dense products are compared as if it were not known.
  static void add_points(Choice& choice, const Way& best, double expected,
                         const std::optional<KnobValues>& predicted) {
    if (predicted && predicted != best.point)
      choice.ways.push_back({best.format, best.recipe, predicted, expected});
    choice.ways.push_back(best);
    if (predicted && predicted == best.point) choice.ways.back().microseconds = expected;
  }

  /// The first of the predictor's ranking that is a point of the recipe and can run; nothing outside of what
  /// it learnt from.
  std::optional<KnobValues> predicted_point(const Recipe& recipe, const RecipeChoices& choices,
                                            const ProblemSummary& summary) const {
    const Predictor* const predictor = options_.predictor;
    // Rows of 16 bytes are the only ones that were measured.
    constexpr std::int64_t of_row = 8;
    if (predictor == nullptr || summary.dtype != DType::f16 || summary.convolution || summary.n % of_row != 0)
      return std::nullopt;
    const std::vector<std::string>& targets = predictor->training.targets;
    const FeatureValues values = features_of(summary, device_numbers(target_));
    if (std::ranges::find(targets, target_.name) == targets.end() || !predictor->times.covers(values))
      return std::nullopt;
    for (const FittedTimes::Expected& one : predictor->times.ranking(values)) {
      const Configuration& configuration = predictor->classes[static_cast<std::size_t>(one.number)];
      if (configuration.recipe == recipe.name && can_run(configuration.point, choices))
        return configuration.point;
    }
    return std::nullopt;
  }

  static bool can_run(const KnobValues& point, const RecipeChoices& choices) {
    const bool is_point =
        point.size() == choices.knobs.size() && std::ranges::all_of(choices.knobs, [&](const ir::Knob& knob) {
          const auto value = point.find(knob.name);
          return value != point.end() && std::ranges::find(knob.values, value->second) != knob.values.end();
        });
    return is_point && first_violation(choices.limits, point) == nullptr;
  }

  /// The point of the least modelled time, where the recipe has any.
  template <class Time>
  static std::optional<Way> best_point(const SpaceProblem& problem, const Recipe& recipe,
                                       const RecipeChoices& choices, const Time& time) {
    if (recipe.knobs.empty()) return std::nullopt;
    std::vector<Constraint> conditions = choices.limits;
    conditions.insert(conditions.end(), choices.worth.begin(), choices.worth.end());
    std::optional<Way> best;
    for_each_point(conditions, choices.knobs, effort, [&](std::span<const std::int64_t> values) {
      KnobValues point;
      for (std::size_t i = 0; i < values.size(); ++i) point[choices.knobs[i].name] = values[i];
      const double microseconds = time(point);
      if (!best || microseconds < best->microseconds)
        best = Way{problem.format, &recipe, std::move(point), microseconds};
      return true;
    });
    return best;
  }

  ExpectedDense modelled_dense() const {
    const ProblemSummary summary = summary_of(algorithm_, *matrix_, formats::csr(), options_.open_size);
    return {"dense", dense_bound(summary, ceilings_of(summary.dtype, target_))};
  }

  [[noreturn]] void refuse() const {
    std::string names;
    for (const Format& format : formats_) names += (names.empty() ? "" : ", ") + format.text();
    throw UserError("no recipe takes the problem", algorithm_.text(), "in " + names + " on " + target_.name,
                    "other formats or recipes, or none, which is all of them");
  }

  const Algorithm& algorithm_;
  std::shared_ptr<const WeightMatrix> matrix_;
  const Target& target_;
  const ChoiceOptions& options_;
  std::vector<Format> formats_;
};

void require_weights(const Algorithm& algorithm) {
  if (algorithm.sparse_operand() == nullptr)
    throw UserError("there is nothing to choose a format for", algorithm.text(), "no sparse operand",
                    "an algorithm with one operand stored sparse");
}

}  // namespace

std::string Way::text() const {
  return fmt::format("{}{} in {}", recipe->name, point ? knob_text(*recipe, *point) : "", format.text());
}

bool Choice::stays_dense() const {
  return dense && dense->microseconds < ways.front().microseconds;
}

std::string Choice::text() const {
  const Way& first = ways.front();
  std::string text = fmt::format("{}, {}", first.text(), text_of_time(first));
  // The same recipe by another point says nothing that a reader could choose.
  const auto second = std::ranges::find_if(
      ways, [&](const Way& way) { return way.recipe != first.recipe || way.format != first.format; });
  if (second != ways.end()) text += fmt::format("; second {}, {}", second->text(), text_of_time(*second));
  if (dense)
    text += fmt::format("; {} {}{:.3g} us{}", dense->name, dense->measured ? "" : "about ",
                        dense->microseconds, stays_dense() ? ": better stay dense" : "");
  return text;
}

Choice choose(const Algorithm& algorithm, const WeightMatrix& weights, const Target& target,
              const ChoiceOptions& options, CallPlace place) {
  return user_call(place, [&] {
    require_weights(algorithm);
    return Chooser(algorithm, weights, target, options)();
  });
}

bool is_left_to_default(const Recipe& recipe, const Schedule& schedule) {
  // The recipe alone knows what it leaves, and the default schedule never asks for tensor cores.
  return recipe.of_halves &&
         std::ranges::find(schedule.steps(), "tensorize", &Step::name) == schedule.steps().end();
}

Format packed_format(const Way& way) {
  return way.point && way.recipe->format_of ? way.recipe->format_of(way.format, *way.point) : way.format;
}

Schedule schedule_of_way(const Way& way, const Algorithm& algorithm, const WeightMatrix& weights,
                         std::shared_ptr<const SparseTensor> packed, const Target& target) {
  const Recipe& recipe = *way.recipe;
  const Format format = packed_format(way);
  if (packed == nullptr || packed->format() != format)
    packed = std::make_shared<const SparseTensor>(pack(weights, format));
  Schedule schedule =
      recipe.write(algorithm, std::move(packed), target, way.point.value_or(KnobValues()), CallPlace());
  if (is_left_to_default(recipe, schedule))
    throw UserError("a recipe does not fit", algorithm.name, way.text() + " on " + target.name,
                    "weights and a target of which it takes more than the default schedule would");
  return schedule;
}

Schedule auto_schedule(const Algorithm& algorithm, std::shared_ptr<const SparseTensor> weights,
                       const Target& target, const ChoiceOptions& options, CallPlace place) {
  return user_call(place, [&] {
    WeightMatrix matrix = from_dense(weights->to_dense(), "packed weights");
    matrix.shape = weights->shape();
    ChoiceOptions of_format = options;
    of_format.formats = {weights->format()};
    Choice choice = choose(algorithm, matrix, target, of_format);
    return first_that_fits(
        choice, [&](const Way& way) { return schedule_of_way(way, algorithm, matrix, weights, target); });
  });
}

AutoKernel auto_kernel(const Algorithm& algorithm, const WeightMatrix& weights, const Target& target,
                       const ChoiceOptions& options, const KernelOptions& kernel, CallPlace place) {
  return user_call(place, [&] {
    Choice choice = choose(algorithm, weights, target, options);
    const Kernel made = first_that_fits(choice, [&](const Way& way) {
      return compile(schedule_of_way(way, algorithm, weights, nullptr, target), kernel);
    });
    return AutoKernel{std::move(choice), made.schedule().shared_weights(), made};
  });
}

}  // namespace weft
