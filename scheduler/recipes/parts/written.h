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

inline RecipeChoices choices_of(const Recipe& recipe, const SpaceProblem& problem, PackedWeights& packed,
                                const Target& target, const SpaceOptions& options) {
  return asked(recipe, "choices", [&] { return recipe.choices(problem, packed, target, options); });
}

}  // namespace weft
