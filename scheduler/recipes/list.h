// The one list of recipes: what --recipe takes, what there are spaces of, what is measured and modelled, and
// what pages of help show. A program may add its own.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/scheduler/recipes/parts/recipe.h>

#include <span>
#include <string_view>
#include <vector>

namespace weft {

/// All of them, those that take most first, and behind them those that were added.
std::span<const Recipe> recipes();
/// Adds a recipe of one's own, which then takes part in choose(), auto_kernel(), spaces and tune() like any
/// other: a program's first calls, before others ask for recipes, and at most 64 times. What it points to
/// lives as long as the program. `is_format`, `why_not`, `choices` and `write` are asked for; without `time`
/// a point is expected to take what the roofline says, whatever its knobs are. UserError for a name that is
/// taken or no word of small letters, digits and single underscores, and where a function is missing.
void add_recipe(Recipe recipe, CallPlace place = {});
/// The same, those that ask most of weights and target first: the likeliest to be fast.
std::vector<const Recipe*> recipes_by_likelihood();
/// The one of that name; null where there is none.
const Recipe* recipe_named(std::string_view name);
/// The same; UserError that lists them, and the nearest, where there is none.
const Recipe& known_recipe(std::string_view name);
/// The one of GPUs that weights in the format are for.
const Recipe& recipe_for(const Format& format);

}  // namespace weft
