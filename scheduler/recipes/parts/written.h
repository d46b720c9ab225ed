// What a recipe answers, whoever wrote it.
#pragma once

#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/recipes/parts/recipe.h>

#include <memory>
#include <new>
#include <string>
#include <utility>

namespace weft {

/// What one of a recipe's functions says. A recipe of one's own may throw anything: what is no error of
/// weft's is a UserError that names the recipe and the function.
///     asked(recipe, "why_not", [&] { return recipe.why_not(problem, target); })
template <class Ask>
auto asked(const Recipe& recipe, const std::string& function, const Ask& ask) {
  try {
    return ask();
  } catch (const UserError&) {
    throw;
  } catch (const RuntimeError&) {
    throw;
  } catch (const InternalError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw UserError("a recipe ended with an exception", fmt::format("recipe {}, {}", recipe.name, function),
                    fmt::format("an exception whose what() is \"{}\"", error.what()),
                    "what the function is declared to return, or a UserError; a point may lack any of the "
                    "recipe's knobs");
  }
}

inline Schedule schedule_by(const Recipe& recipe, const Algorithm& algorithm,
                            std::shared_ptr<const SparseTensor> weights, const Target& target,
                            const KnobValues& point) {
  std::string knobs;
  for (const auto& [name, value] : point)
    knobs += fmt::format("{}{}={}", knobs.empty() ? "" : " ", name, value);
  return asked(recipe, "write of the point {" + knobs + "}",
               [&] { return recipe.write(algorithm, std::move(weights), target, point, CallPlace()); });
}

/// The format that the weights of a point are packed in.
inline Format format_of(const Recipe& recipe, const Format& format, const KnobValues& point) {
  if (recipe.format_of == nullptr) return format;
  return asked(recipe, "format_of", [&] { return recipe.format_of(format, point); });
}

inline std::string why_not(const Recipe& recipe, const SpaceProblem& problem, const Target& target) {
  return asked(recipe, "why_not", [&] { return recipe.why_not(problem, target); });
}

/// UserError for a choice that the recipe's own row of the knob does not have: a record of it could not be
/// asked for by name. 0 leaves a number to the recipe.
inline void require_declared(const Recipe& recipe, const ir::Knob& knob) {
  const RecipeKnob* declared = knob_named(recipe.knobs, knob.name);
  const auto refuse = [&](const std::string& found, const std::string& accepted) {
    throw UserError("a recipe chooses among what it has not declared",
                    fmt::format("recipe {}, choices", recipe.name), found, accepted);
  };
  if (declared == nullptr)
    return refuse("a knob " + knob.name, fmt::format("a row {{.name = \"{}\"}} in Recipe::knobs", knob.name));
  const auto words = static_cast<std::int64_t>(declared->words.size());
  const std::int64_t most = words > 0 ? words : declared->most;
  for (const std::int64_t value : knob.values) {
    if (value <= most) continue;
    refuse(fmt::format("{} = {}", knob.name, value),
           fmt::format("at most {}, as Recipe::knobs has it, or .most = {} there", most, value));
  }
}

inline RecipeChoices choices_of(const Recipe& recipe, const SpaceProblem& problem, PackedWeights& packed,
                                const Target& target, const SpaceOptions& options) {
  RecipeChoices choices =
      asked(recipe, "choices", [&] { return recipe.choices(problem, packed, target, options); });
  for (const ir::Knob& knob : choices.knobs) require_declared(recipe, knob);
  return choices;
}

}  // namespace weft
