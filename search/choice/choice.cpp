#include <fmt/format.h>
#include <weft/scheduler/limits/points.h>
#include <weft/scheduler/program/check_weights.h>
#include <weft/scheduler/recipes/parts/written.h>
#include <weft/search/choice/choice.h>
#include <weft/search/choice/formats_worth_trying.h>
#include <weft/search/model/bound.h>
#include <weft/search/model/dense_bound.h>
#include <weft/search/model/known_error.h>
#include <weft/search/records/recorded_problem.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <ranges>
#include <tuple>
#include <utility>

namespace weft {
namespace {

/// Points and parts of points that are looked at for one recipe: some milliseconds.
constexpr std::size_t effort = 400'000;
/// Points of the least modelled time whose expected time is asked for.
constexpr std::size_t likely = 128;

/// What other weights of the same shape, structure and density change in a time, and other devices of a kind.
constexpr KnownError of_other_weights{0.9, 1.12};

std::string text_of_time(const Way& way) {
  return fmt::format("{}{:.3g} us{}", way.measured ? "" : "about ", way.microseconds,
                     way.known ? " by a search" : "");
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
        formats_(options.formats.empty() ? formats_worth_trying(weights, target) : options.formats),
        known_(known()) {}

  Choice operator()() {
    Choice choice;
    take_measured(choice);
    for (const Format& format : formats_) add_ways(choice, format);
    if (choice.ways.empty()) refuse();
    std::ranges::stable_sort(
        choice.ways, {}, [](const Way& way) { return std::tuple(!way.measured, !way.known, way.rank()); });
    if (!choice.dense && choice.ways.front().known && known_->dense)
      choice.dense = {known_->dense->name, known_->dense->microseconds, false, of_other_weights};
    if (target_.is_gpu() && !choice.dense && options_.image_groups == 1) choice.dense = modelled_dense();
    return choice;
  }

 private:
  bool takes(const Recipe& recipe) const {
    return options_.recipes.empty() ||
           std::ranges::find(options_.recipes, recipe.name) != options_.recipes.end();
  }

  /// What a search of the same problem found; null where there was none, or a launch says a size.
  const KnownChoice* known() const {
    const bool is_open = std::ranges::any_of(
        algorithm_.indices, [](const IndexVariable& index) { return !index.extent.is_static(); });
    const bool is_of_target = options_.known != nullptr && options_.known->target == target_.name;
    if (!is_of_target || is_open || options_.image_groups != 1) return nullptr;
    const ProblemSummary summary = summary_of(algorithm_, *matrix_, formats::csr(), options_.open_size);
    const std::string structure =
        structure_of(options_.formats.empty() ? formats_ : formats_worth_trying(*matrix_, target_));
    return options_.known->find(recorded_problem(algorithm_, *matrix_, summary.n), structure,
                                summary.density());
  }

  void require_trial_of_problem(const StoredRecord& trial) const {
    const Record& record = trial.record;
    const std::int64_t m = record.problem.size("M"), k = record.problem.size("K");
    if ((m == 0 || m == matrix_->rows) && (k == 0 || k == matrix_->columns)) return;
    throw UserError("a trial is of another problem",
                    fmt::format("ChoiceOptions::records, line {}", trial.line),
                    fmt::format("weights of {} x {}", m, k),
                    fmt::format("trials of weights of {} x {}, or none", matrix_->rows, matrix_->columns));
  }

  void take_measured(Choice& choice) const {
    for (const StoredRecord& stored : options_.records) {
      require_trial_of_problem(stored);
      const Record& record = stored.record;
      const auto time = record.time_of_correct();
      const Recipe* recipe = recipe_named(record.recipe);
      if (!time || record.sums_roughly() || recipe == nullptr || !takes(*recipe)) continue;
      const Format format = parse_format(record.pattern.kind);
      if (!options_.formats.empty() && std::ranges::find(options_.formats, format) == options_.formats.end())
        continue;
      choice.ways.push_back(
          {format, recipe, record.config, *time, true, error_of_samples(*record.microseconds)});
      for (const Baseline& baseline : record.baselines) {
        if (baseline.dense && baseline.whose == BaselineOf::library && !choice.dense)
          choice.dense = {baseline.name, baseline.microseconds, true, KnownError{}};
      }
    }
  }

  void add_ways(Choice& choice, const Format& format) const {
    const SpaceProblem problem{algorithm_, matrix_, format};
    const ProblemSummary summary = summary_of(algorithm_, *matrix_, format, options_.open_size);
    const Ceilings ceilings = ceilings_of(summary.dtype, target_);
    for (const Recipe& recipe : recipes()) {
      if (!takes(recipe) || !why_not(recipe, problem, target_).empty()) continue;
      const Times times{[&](const KnobValues& point) {
                          return modelled_time(summary, format, recipe.name, point, target_, ceilings);
                        },
                        [&](const KnobValues& point) {
                          return expected_time(summary, format, recipe.name, point, target_, ceilings);
                        }};
      const std::size_t first = choice.ways.size();
      Way unasked{format, &recipe, {}, times.expected({})};
      const RecipeChoices choices = choices_of(problem, recipe);
      const bool compared = has_learnt_times(recipe.name, target_) ||
                            error_of_bound(summary, format, recipe.name, target_).has_value();
      const bool of_points = compared && !target_.is_gpu();
      // What was learnt of a CPU is of points alone, of images with code and lists in the caches: in a
      // network, where they are not, the recipe's own points are the faster ones (docs/measurements/cpu.md).
      if (const auto own = of_points && summary.convolution ? own_point(recipe, format) : std::nullopt) {
        unasked.microseconds = times.of_image(*own);
        choice.ways.push_back(std::move(unasked));
      } else {
        const std::vector<Way> best = best_points(problem, recipe, choices, times);
        // Where no kernel was compared with its model a recipe is trusted to find about the best of its
        // points, but not of a product where the model of its own point takes longer by far.
        constexpr double far = 3.8;  // the model of code has been so much too slow in few columns
        if (of_points && !best.empty()) unasked.microseconds = best.front().microseconds;
        if (!best.empty() && !compared &&
            (summary.convolution || unasked.microseconds <= far * best.front().microseconds))
          unasked.microseconds = std::min(unasked.microseconds, best.front().microseconds);
        else if (!best.empty())
          add_points(choice, best, std::min(best.front().microseconds, unasked.microseconds),
                     predicted_point(recipe, choices, summary));
        if (!of_points || best.empty()) choice.ways.push_back(std::move(unasked));
      }
      if (is_known(format, recipe)) add_known(choice, choices);
      for (Way& way : std::span(choice.ways).subspan(first)) {
        const KnobValues point = way.point.value_or(KnobValues());
        way.error = way.known ? of_other_weights
                              : error_of_expected_time(summary, format, recipe.name, point, target_);
        way.reluctance = reluctance_to(summary, format, recipe.name, target_);
      }
    }
  }

  /// Points of a recipe that has other knobs by now are passed over.
  void add_known(Choice& choice, const RecipeChoices& choices) const {
    Way way = choice.ways.back();
    way.microseconds = known_->microseconds;
    way.known = true;
    if (!known_->point.empty()) way.point = known_->point;
    if (known_->point.empty() || can_run(known_->point, choices)) choice.ways.push_back(std::move(way));
  }

  /// What it takes unasked, in full.
  std::optional<KnobValues> own_point(const Recipe& recipe, const Format& format) const {
    if (recipe.choose == nullptr) return std::nullopt;
    PackedWeights packed(matrix_);
    return recipe.choose(algorithm_, packed.in(format), target_);
  }

  bool is_known(const Format& format, const Recipe& recipe) const {
    return known_ != nullptr && known_->format == format && known_->recipe == recipe.name;
  }

  RecipeChoices choices_of(const SpaceProblem& problem, const Recipe& recipe) const {
    if (recipe.knobs.empty()) return {};
    PackedWeights packed(matrix_);
    return weft::choices_of(recipe, problem, packed, target_, {});
  }

  /// The predicted point before that of the bound. Its time is what is expected of the recipe anyway, so that
  /// recipes and dense products are compared as if it were not known.
  static void add_points(Choice& choice, const std::vector<Way>& best, double expected,
                         const std::optional<KnobValues>& predicted) {
    if (predicted) choice.ways.push_back({best.front().format, best.front().recipe, predicted, expected});
    std::ranges::copy_if(best, std::back_inserter(choice.ways),
                         [&](const Way& way) { return way.point != predicted; });
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

  struct Times {
    std::function<double(const KnobValues&)> modelled, expected;

    /// Of a point for images on a CPU: half of what was learnt beyond the model, whose errors and those of
    /// the trees have little to do with one another (docs/measurements/cpu.md).
    double of_image(const KnobValues& point) const { return std::sqrt(modelled(point) * expected(point)); }
  };

  /// The points of the least expected time, the fastest first: so many for each value of the recipe's first
  /// knob that is a word, a form or an instruction, so that where one form is refused the next is at hand.
  std::vector<Way> best_points(const SpaceProblem& problem, const Recipe& recipe,
                               const RecipeChoices& choices, const Times& times) const {
    std::vector<Way> best;
    for (const std::vector<KnobValues>& points : likely_points(recipe, choices, times.modelled)) {
      std::vector<Way> of_kind;
      for (const KnobValues& point : points)
        of_kind.push_back({problem.format, &recipe, offered(point), times.expected(point)});
      std::ranges::stable_sort(of_kind, {}, &Way::microseconds);
      const auto again = std::ranges::unique(of_kind, {}, &Way::point);
      of_kind.erase(again.begin(), again.end());
      of_kind.resize(std::min(of_kind.size(), options_.points));
      best.insert(best.end(), of_kind.begin(), of_kind.end());
    }
    std::ranges::stable_sort(best, {}, &Way::microseconds);
    return best;
  }

  /// On a CPU what threads share is left to the recipe: times are of one thread.
  KnobValues offered(KnobValues point) const {
    if (!target_.is_gpu()) point.erase("threads");
    return point;
  }

  /// By the kind of point, those of the least modelled time.
  template <class Time>
  static std::vector<std::vector<KnobValues>> likely_points(const Recipe& recipe,
                                                            const RecipeChoices& choices, const Time& time) {
    if (recipe.knobs.empty()) return {};
    std::vector<Constraint> all = choices.limits;
    all.insert(all.end(), choices.worth.begin(), choices.worth.end());
    auto kinds = likely_points(recipe, choices, all, time);
    // What is worth trying was written of products that were measured, and may leave nothing of another.
    return kinds.empty() ? likely_points(recipe, choices, choices.limits, time) : kinds;
  }

  template <class Time>
  static std::vector<std::vector<KnobValues>> likely_points(const Recipe& recipe,
                                                            const RecipeChoices& choices,
                                                            const std::vector<Constraint>& conditions,
                                                            const Time& time) {
    const auto word =
        std::ranges::find_if(recipe.knobs, [](const auto& knob) { return !knob.words.empty(); });
    const auto kind = std::ranges::find_if(choices.knobs, [&](const ir::Knob& knob) {
      return word != recipe.knobs.end() && knob.name == word->name;
    });
    const auto place = static_cast<std::size_t>(kind - choices.knobs.begin());
    std::map<std::int64_t, std::multimap<double, std::vector<std::int64_t>>> kinds;
    KnobValues point;
    std::vector<std::int64_t*> of_knobs;  // nothing is looked up by name for each of many thousand points
    for (const ir::Knob& knob : choices.knobs) of_knobs.push_back(&point[knob.name]);
    const auto set = [&](std::span<const std::int64_t> values) {
      for (std::size_t i = 0; i < values.size(); ++i) *of_knobs[i] = values[i];
    };
    for_each_point(conditions, choices.knobs, effort, [&](std::span<const std::int64_t> values) {
      set(values);
      const double microseconds = time(point);
      auto& points = kinds[place < values.size() ? values[place] : 0];
      if (points.size() == likely && microseconds >= points.rbegin()->first) return true;
      points.emplace(microseconds, std::vector<std::int64_t>(values.begin(), values.end()));
      if (points.size() > likely) points.erase(std::prev(points.end()));
      return true;
    });
    std::vector<std::vector<KnobValues>> likely_ones;
    for (const auto& points : std::views::values(kinds)) {
      likely_ones.emplace_back();
      for (const auto& [microseconds, values] : points) {
        set(values);
        likely_ones.back().push_back(point);
      }
    }
    return likely_ones;
  }

  ExpectedDense modelled_dense() const {
    const ProblemSummary summary = summary_of(algorithm_, *matrix_, formats::csr(), options_.open_size);
    return {"dense", dense_bound(summary, ceilings_of(summary.dtype, target_)), false,
            error_of_dense_bound(summary, target_)};
  }

  /// Only where recipes were asked for by name: the default schedule takes everything.
  [[noreturn]] void refuse() const {
    std::vector<std::string> reasons, others;
    for (const Format& format : formats_) {
      for (const Recipe& recipe : recipes()) {
        const std::string reason = why_not(recipe, {algorithm_, matrix_, format}, target_);
        std::string text =
            takes(recipe) ? fmt::format("{}: {}", recipe.name, reason) : std::string(recipe.name);
        std::vector<std::string>& list = takes(recipe) ? reasons : others;
        if (takes(recipe) != reason.empty() && std::ranges::find(list, text) == list.end())
          list.push_back(std::move(text));
      }
    }
    throw UserError(
        "no recipe that was asked for takes the problem", algorithm_.text(),
        fmt::format("{}", fmt::join(reasons, "; ")),
        fmt::format("recipes that take it: {}{}", fmt::join(others, ", "), text_of_other_formats()));
  }

  /// Whether a recipe could take the algorithm on the target, in whichever format.
  bool suits(const Recipe& recipe) const {
    const DType dtype = algorithm_.sparse_operand()->dtype;
    const bool is_of_target = target_.is_gpu() ? !recipe.of_cpus : !recipe.of_gpus;
    return is_of_target && (!recipe.of_halves || is_of_tensor_cores(dtype));
  }

  /// What weights are packed in for the recipes that were asked for, of which no format here is one.
  std::string text_of_other_formats() const {
    std::string text;
    for (const Recipe& recipe : recipes()) {
      if (takes(recipe) && suits(recipe) && std::ranges::none_of(formats_, recipe.is_format))
        text += fmt::format("; or for {} weights of {}", recipe.name, recipe.formats);
    }
    return text;
  }

  const Algorithm& algorithm_;
  std::shared_ptr<const WeightMatrix> matrix_;
  const Target& target_;
  const ChoiceOptions& options_;
  std::vector<Format> formats_;
  const KnownChoice* known_;
};

void require_sparse(const Algorithm& algorithm) {
  if (algorithm.sparse_operand() != nullptr) return algorithm.check();
  const bool is_one = !algorithm.operands.empty();
  throw UserError("there is nothing to choose a format for", is_one ? algorithm.text() : "Algorithm",
                  is_one ? "no sparse operand" : "an Algorithm without operands",
                  "an algorithm with one operand stored sparse");
}

void require_options(const ChoiceOptions& options) {
  for (const std::string_view name : options.recipes) known_recipe(name);
  if (options.open_size < 1 || options.open_size > largest_extent)
    throw UserError(
        "no kernel can be chosen", "ChoiceOptions", fmt::format("open_size = {}", options.open_size),
        fmt::format("open_size = 1 to {}: the size that launches will mostly have", largest_extent));
  if (options.points < 1)
    throw UserError("no kernel can be chosen", "ChoiceOptions", "points = 0", "points = 1 or more");
}

const Recipe& recipe_of(const Way& way) {
  if (way.recipe != nullptr) return *way.recipe;
  throw UserError("a way to make a kernel has no recipe", "Way", "null", "a way of choose()");
}

}  // namespace

std::string Way::text(CallPlace place) const {
  return user_call(place, [&] {
    const Recipe& made_by = recipe_of(*this);
    const std::string knobs = point ? text_of_point(made_by.knobs, *point) : "";
    return fmt::format("{}{}{} in {}", made_by.name, knobs.empty() ? "" : ":", knobs, format.text());
  });
}

const Way& Choice::first(CallPlace place) const {
  return user_call(place, [&]() -> const Way& {
    if (!ways.empty()) return ways.front();
    throw UserError("there is no way to make a kernel", "Choice", "none", "a Choice of choose()");
  });
}

Faster Choice::faster(CallPlace place) const {
  const Way& first = this->first(place);
  if (!dense || !dense->error || !first.error) return Faster::none;
  return compared(dense->microseconds / first.microseconds, *dense->error, *first.error).faster;
}

std::string Choice::verdict(CallPlace place) const {
  const Way& first = this->first(place);
  if (!dense) return "no verdict: no time of the dense product is known";
  if (!dense->error || !first.error)
    return fmt::format("no verdict: kernels of {} in {} were never compared with their model",
                       first.recipe->name, first.format.text());
  const Comparison found = compared(dense->microseconds / first.microseconds, *dense->error, *first.error);
  if (found.faster == Faster::dense) return "stay dense";
  if (found.faster == Faster::kernel) return "sparse is faster";
  return first.measured && dense->measured
             ? fmt::format("no verdict: within the spread of the samples (factor {:.2f})", found.factor)
             : fmt::format("no verdict: within the error of the models (factor {:.1f})", found.factor);
}

std::string Choice::text(CallPlace place) const {
  const Way& first = this->first(place);
  std::string text = fmt::format("{}, {}", first.text(place), text_of_time(first));
  // The same recipe by another point says nothing that a reader could choose.
  const auto second = std::ranges::find_if(
      ways, [&](const Way& way) { return way.recipe != first.recipe || way.format != first.format; });
  if (second != ways.end())
    text += fmt::format("; second {}, {}", second->text(place), text_of_time(*second));
  if (dense)
    text += fmt::format("; {} {}{:.3g} us: {}", dense->name, dense->measured ? "" : "about ",
                        dense->microseconds, verdict(place));
  return text;
}

Choice choose(const Algorithm& algorithm, const WeightMatrix& weights, const Target& target,
              const ChoiceOptions& options, CallPlace place) {
  return user_call(place, [&] {
    require_sparse(algorithm);
    check_weights(algorithm, weights);
    require_options(options);
    return Chooser(algorithm, weights, target, options)();
  });
}

bool is_left_to_default(const Recipe& recipe, const Schedule& schedule) {
  // The recipe alone knows what it leaves, and the default schedule never asks for tensor cores.
  return recipe.of_halves &&
         std::ranges::find(schedule.steps(), "tensorize", &Step::name) == schedule.steps().end();
}

Format packed_format(const Way& way, CallPlace place) {
  return user_call(place, [&] {
    const Recipe& recipe = recipe_of(way);
    return way.point ? weft::format_of(recipe, way.format, *way.point) : way.format;
  });
}

Schedule schedule_of_way(const Way& way, const Algorithm& algorithm, const WeightMatrix& weights,
                         std::shared_ptr<const SparseTensor> packed, const Target& target, CallPlace place) {
  return user_call(place, [&] {
    const Recipe& recipe = recipe_of(way);
    const Format format = packed_format(way);
    if (packed == nullptr || packed->format() != format)
      packed = std::make_shared<const SparseTensor>(pack(weights, format));
    Schedule schedule =
        schedule_by(recipe, algorithm, std::move(packed), target, way.point.value_or(KnobValues()));
    if (is_left_to_default(recipe, schedule))
      throw UserError("a recipe does not fit", algorithm.name, way.text() + " on " + target.name,
                      "weights and a target of which it takes more than the default schedule would");
    return schedule;
  });
}

Schedule auto_schedule(const Algorithm& algorithm, std::shared_ptr<const SparseTensor> weights,
                       const Target& target, const ChoiceOptions& options, CallPlace place) {
  return user_call(place, [&] {
    require_sparse(algorithm);
    check_weights(algorithm, weights.get());
    if (!options.formats.empty() &&
        std::ranges::find(options.formats, weights->format()) == options.formats.end())
      throw UserError("weights that are packed already are in none of the formats", "ChoiceOptions",
                      weights->format().text(), "no formats, or that one; auto_kernel packs weights anew");
    WeightMatrix matrix = from_dense(weights->to_dense(), "packed weights");
    matrix.shape = weights->shape();
    ChoiceOptions of_format = options;
    of_format.formats = {weights->format()};
    Choice choice = choose(algorithm, matrix, target, of_format);
    return first_that_fits(
        choice, [&](const Way& way) { return schedule_of_way(way, algorithm, matrix, weights, target); });
  });
}

AutoKernel auto_kernel(const Algorithm& algorithm, const WeightMatrix& weights, const Target& wanted,
                       const ChoiceOptions& options, const KernelOptions& kernel, CallPlace place) {
  return user_call(place, [&] {
    Target target = wanted;
    if (kernel.threads > 0 && !target.is_gpu()) target.threads = kernel.threads;
    Choice choice = choose(algorithm, weights, target, options);
    const Kernel made = first_that_fits(choice, [&](const Way& way) {
      return compile(schedule_of_way(way, algorithm, weights, nullptr, target), kernel);
    });
    return AutoKernel{std::move(choice), made.schedule().shared_weights(), made};
  });
}

}  // namespace weft
