// The space of the recipe of the CPU.
#pragma once

#include <weft/scheduler/recipes/parts/recipe.h>

#include <string>

namespace weft {

/// Recipe::why_not of cpu_rows.
std::string why_no_cpu_rows(const SpaceProblem& problem, const Target& target);
/// Recipe::choices of it.
RecipeChoices cpu_rows_choices(const SpaceProblem& problem, PackedWeights& packed, const Target& target,
                               const SpaceOptions& options);

}  // namespace weft
