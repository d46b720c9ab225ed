// The recipes that have a space. A new one is one file here that fills a row, and one line in the list.
#pragma once

#include <weft/search/spaces/space.h>

#include <span>
#include <string>
#include <string_view>

namespace weft {

/// What a space of a user's schedule says in place of a recipe.
inline constexpr std::string_view recipe_of_schedules = "schedule";

struct RecipeSpace {
  std::string_view name;
  std::string_view summary;  ///< one line, for pages
  /// Why there is no space for the problem on the target; nothing where there is one.
  std::string (*why_none)(const SpaceProblem& problem, const Target& target);
  /// Where there is a reason, undefined.
  Space (*make)(const SpaceProblem& problem, const Target& target, const SpaceOptions& options);
};

/// All of them, the likeliest first.
std::span<const RecipeSpace> recipe_spaces();

}  // namespace weft
