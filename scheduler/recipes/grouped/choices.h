// What there is to choose from for row groups on tensor cores, and about how long it takes.
#pragma once

#include <weft/scheduler/recipes/parts/recipe.h>

namespace weft {

/// Rows of a group that a format asks for; of one that asks for none, those of the tallest tile; 0 for a
/// format without groups.
std::int64_t rows_of_group(const Format& format);

/// Why tensor cores of the target cannot multiply such weights in the algorithm, whatever their format;
/// nothing where they can.
std::string why_no_grouped_tiles(const SpaceProblem& problem, const Target& target);
RecipeChoices grouped_choices(const SpaceProblem& problem, PackedWeights& packed, const Target& target,
                              const SpaceOptions& options);

namespace bounds {

Bound of_groups(const ProblemSummary& problem, const KnobValues& point, const Target& target,
                const Ceilings& ceilings);

}  // namespace bounds
}  // namespace weft
