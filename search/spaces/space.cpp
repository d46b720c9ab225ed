#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/formats/suggestion.h>
#include <weft/scheduler/limits/points.h>
#include <weft/scheduler/program/step_arguments.h>
#include <weft/scheduler/recipes/list.h>
#include <weft/scheduler/recipes/parts/written.h>
#include <weft/search/records/records.h>
#include <weft/search/spaces/replay.h>
#include <weft/search/spaces/space.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <set>

namespace weft {
namespace {

std::vector<std::string_view> names_of(const std::vector<ir::Knob>& knobs) {
  std::vector<std::string_view> names;
  for (const ir::Knob& knob : knobs) names.push_back(knob.name);
  return names;
}

const ir::Knob& knob_named(const Space& space, const std::string& name) {
  const auto found = std::ranges::find(space.knobs(), name, &ir::Knob::name);
  if (found != space.knobs().end()) return *found;
  const std::vector<std::string_view> names = names_of(space.knobs());
  throw UserError(fmt::format("{} has no such knob", space.recipe()), name,
                  names.empty() ? "none: it has no knobs"
                                : fmt::format("{}{}", fmt::join(names, ", "), did_you_mean(name, names)));
}

Points points_of(const std::vector<ir::Knob>& knobs, const std::vector<Constraint>& conditions) {
  std::vector<std::string> names;
  for (const ir::Knob& knob : knobs) names.push_back(knob.name);
  Points points(std::move(names));
  for_each_point(conditions, knobs, std::numeric_limits<std::size_t>::max(),
                 [&](std::span<const std::int64_t> values) {
                   points.add(values);
                   return true;
                 });
  return points;
}

constexpr std::size_t longest_shown = 100;

std::int64_t value_of_number(const std::string& knob, std::string_view word) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  constexpr std::int64_t most = 1'000'000;
  if (error != std::errc() || end != word.data() + word.size() || value < 0 || value > most)
    throw UserError("a knob cannot be read", "knob " + knob, std::string(word.substr(0, longest_shown)),
                    fmt::format("a whole number from 0 to {}", most));
  return value;
}

void require_problem(const SpaceProblem& problem) {
  const bool whole = !problem.algorithm.operands.empty() && problem.matrix != nullptr;
  if (!whole)
    throw UserError("there is nothing to make a space for", "SpaceProblem",
                    problem.matrix == nullptr ? "no weights" : "no algorithm",
                    "an algorithm, as of spmm_algorithm() or algorithm(), and a WeightMatrix");
}

void require_options(const SpaceOptions& options) {
  constexpr std::int64_t most = 32;  // no multiprocessor holds more
  if (options.resident_blocks < 1 || options.resident_blocks > most)
    throw UserError("a space cannot be made", "SpaceOptions",
                    fmt::format("resident_blocks = {}", options.resident_blocks),
                    fmt::format("resident_blocks = 1 to {}", most));
}

/// Those of the problem, for whoever asked for another one.
std::string recipes_for(const SpaceProblem& problem, const Target& target) {
  std::string names;
  for (const Recipe* recipe : recipes_by_likelihood()) {
    if (why_not(*recipe, problem, target).empty())
      names += (names.empty() ? "" : ", ") + std::string(recipe->name);
  }
  return names;
}

/// Its points, whose weights are packed once in each format that they ask for.
Space space_of(const Recipe& recipe, const SpaceProblem& problem, const Target& target,
               const SpaceOptions& options) {
  const auto packed = std::make_shared<PackedWeights>(problem.matrix);
  RecipeChoices choices = choices_of(recipe, problem, *packed, target, options);
  const auto schedule = [packed, problem, target, &recipe, whole = choices.whole](const KnobValues& point) {
    const Constraint* const broken = point.empty() ? nullptr : first_violation(whole, point);
    if (broken != nullptr)
      throw UserError(fmt::format("a point of {} lacks a knob of its form", recipe.name),
                      problem.algorithm.name, broken->name, broken->text);
    const Format format = format_of(recipe, problem.format, point);
    return schedule_by(recipe, problem.algorithm, packed->in(format), target, point);
  };
  Space::Parts parts{.recipe = std::string(recipe.name),
                     .target = target.name,
                     .format = problem.format,
                     .knobs = std::move(choices.knobs),
                     .constraints = std::move(choices.limits),
                     .preferences = std::move(choices.worth),
                     .schedule = schedule,
                     .words = recipe.knobs,
                     .has_unasked = !recipe.knobs.empty()};
  if (recipe.choose)
    parts.usual = [packed, problem, target, &recipe] {
      return asked(recipe, "choose",
                   [&] { return recipe.choose(problem.algorithm, packed->in(problem.format), target); });
    };
  return Space(std::move(parts));
}

}  // namespace

KnobValues Points::operator[](std::size_t index) const {
  KnobValues point;
  for (std::size_t i = 0; i < knobs_.size(); ++i) point[knobs_[i]] = values_[index * knobs_.size() + i];
  return point;
}

void Points::add(std::span<const std::int64_t> values) {
  values_.insert(values_.end(), values.begin(), values.end());
  ++count_;
}

Space::Space(Parts all) : parts_(std::make_shared<const Parts>(std::move(all))) {
  std::set<std::string> names;
  for (const ir::Knob& knob : knobs()) {
    internal_check(names.insert(knob.name).second, "two knobs are called " + knob.name);
    internal_check(!knob.values.empty(), "knob " + knob.name + " has no values");
  }
  for (const auto* list : {&constraints(), &preferences()}) {
    std::set<std::string> conditions;
    for (const Constraint& constraint : *list) {
      internal_check(conditions.insert(constraint.name).second,
                     "two conditions are called " + constraint.name);
      for (const std::string& knob : knobs_of(constraint)) {
        if (names.contains(knob)) continue;
        throw UserError("a condition of a space is about no knob",
                        recipe() + ", condition " + constraint.name, knob,
                        fmt::format("{}", fmt::join(names, ", ")));
      }
    }
  }
}

std::int64_t Space::size() const {
  std::int64_t size = 1;
  for (const ir::Knob& knob : knobs()) size *= std::ssize(knob.values);
  return size;
}

Points Space::feasible() const {
  return points_of(knobs(), constraints());
}

Points Space::worth_trying() const {
  std::vector<Constraint> all = constraints();
  all.insert(all.end(), preferences().begin(), preferences().end());
  Points points = points_of(knobs(), all);
  return points.empty() ? feasible() : points;
}

void Space::require_point(const KnobValues& point) const {
  if (is_unasked(point)) return;
  for (const auto& [name, value] : point) knob_named(*this, name);
  for (const ir::Knob& knob : knobs()) {
    if (point.count(knob.name) == 0)
      throw UserError(fmt::format("a point of {} lacks a knob", recipe()), "no " + knob.name,
                      fmt::format("a value for each of {}", fmt::join(names_of(knobs()), ", ")));
  }
}

std::optional<KnobValues> Space::usual() const {
  if (parts_->usual) {
    std::optional<KnobValues> point = parts_->usual();
    if (!point || first_violation(constraints(), *point) == nullptr) return point;
  }
  return parts_->has_unasked ? std::optional(KnobValues()) : std::nullopt;
}

const Constraint* Space::violated(const KnobValues& point, CallPlace place) const {
  return user_call(place, [&] {
    require_point(point);
    return is_unasked(point) ? nullptr : first_violation(constraints(), point);
  });
}

Feasibility Space::complete(const KnobValues& fixed, CallPlace place) const {
  return user_call(place, [&] {
    for (const auto& [name, value] : fixed) {
      const ir::Knob& knob = knob_named(*this, name);
      if (value < 1 && std::ranges::find(knob.values, value) == knob.values.end())
        throw UserError("a knob cannot have this value", fmt::format("knob {} of {}", name, recipe()),
                        std::to_string(value), fmt::format("one of {}", fmt::join(knob.values, ", ")));
    }
    return weft::complete(constraints(), knobs(), fixed);
  });
}

Schedule Space::schedule(const KnobValues& point, CallPlace place) const {
  return user_call(place, [&] {
    require_point(point);
    return parts_->schedule(point);
  });
}

std::string Space::text(const KnobValues& point, CallPlace place) const {
  user_call(place, [&] { require_point(point); });
  if (is_unasked(point)) return recipe();
  std::string text;
  for (const ir::Knob& knob : knobs()) {
    const std::int64_t value = point.at(knob.name);
    const RecipeKnob* row = weft::knob_named(parts_->words, knob.name);
    if (row != nullptr && row->word_of(value).empty()) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", knob.name, word_of(knob.name, value));
  }
  if (recipe().starts_with(recipe_of_schedules)) return text;
  return text.empty() ? recipe() : recipe() + ":" + text;
}

std::int64_t Space::value_of(const std::string& knob, std::string_view word, CallPlace place) const {
  return user_call(place, [&] {
    knob_named(*this, knob);
    const RecipeKnob* row = weft::knob_named(parts_->words, knob);
    if (row == nullptr || row->words.empty()) return value_of_number(knob, word);
    const auto found = std::ranges::find(row->words, word);
    if (found != row->words.end()) return found - row->words.begin() + 1;
    throw UserError("a knob has no such value", "knob " + knob, std::string(word.substr(0, longest_shown)),
                    fmt::format("{}{}", fmt::join(row->words, ", "), did_you_mean(word, row->words)));
  });
}

std::string Space::word_of(const std::string& knob, std::int64_t value) const {
  const RecipeKnob* row = weft::knob_named(parts_->words, knob);
  const std::string word = row == nullptr ? std::string() : row->word_of(value);
  return word.empty() ? std::to_string(value) : word;
}

Space space_of(const std::string& recipe, const SpaceProblem& problem, const Target& target,
               const SpaceOptions& options, CallPlace place) {
  return user_call(place, [&] {
    const Recipe& row = known_recipe(recipe);
    require_problem(problem);
    require_options(options);
    if (const std::string reason = why_not(row, problem, target); !reason.empty())
      throw UserError("a recipe has no space for the problem",
                      fmt::format("recipe {}, {} in {} on {}", recipe, problem.algorithm.name,
                                  problem.format.text(), target.name),
                      reason, "a recipe that has one: " + recipes_for(problem, target));
    return space_of(row, problem, target, options);
  });
}

std::vector<Space> spaces_for(const SpaceProblem& problem, const Target& target, const SpaceOptions& options,
                              CallPlace place) {
  return user_call(place, [&] {
    require_problem(problem);
    require_options(options);
    std::vector<Space> spaces;
    for (const Recipe* recipe : recipes_by_likelihood()) {
      if (why_not(*recipe, problem, target).empty())
        spaces.push_back(space_of(*recipe, problem, target, options));
    }
    return spaces;
  });
}

std::vector<Space> spaces_for(const SpaceProblem& problem, std::span<const Format> formats,
                              const Target& target, const SpaceOptions& options, CallPlace place) {
  std::vector<Space> all;
  for (const Format& format : formats) {
    const SpaceProblem packed{problem.algorithm, problem.matrix, format};
    std::vector<Space> spaces = spaces_for(packed, target, options, place);
    const bool has_recipe =
        std::ranges::any_of(spaces, [](const Space& space) { return space.recipe() != "default"; });
    // It is made for one recipe alone.
    if (format == formats::column_windows() && !has_recipe) continue;
    std::ranges::move(spaces, std::back_inserter(all));
  }
  return all;
}

std::optional<std::size_t> number_of_space(const std::vector<Space>& spaces, std::string_view recipe,
                                           std::string_view format) {
  for (std::size_t number = spaces.size(); number-- > 0;) {
    const Space& space = spaces[number];
    const bool any_format = format.empty() || space.format().name.empty();
    if (space.recipe() == recipe && (any_format || space.format().text() == format)) return number;
  }
  return std::nullopt;
}

Space space_of(const Schedule& schedule, const SpaceOptions& options, CallPlace place) {
  const ir::Program& program = schedule.program();
  const auto make = [schedule](const KnobValues& values) {
    Schedule chosen(schedule.algorithm(), schedule.shared_weights(), schedule.target());
    for (const Step& step : schedule.steps()) chosen.apply(with_values(step, values));
    return chosen;
  };
  return user_call(place, [&] {
    require_options(options);
    const std::string hash = hash_of(schedule.json());
    return Space({.recipe = std::string(recipe_of_schedules) + hash.substr(hash.find(':') + 1),
                  .target = schedule.target().name,
                  .format = schedule.weights() == nullptr ? Format{} : schedule.weights()->format(),
                  .knobs = program.knobs,
                  .constraints = constraints_of(schedule, options.resident_blocks),
                  .preferences = {},
                  .schedule = make});
  });
}

}  // namespace weft
