// The one list of recipes: what --recipe takes, what there are spaces of, what is measured and modelled, and
// what pages of help show.
#pragma once

#include <weft/scheduler/recipes/parts/recipe.h>

#include <span>
#include <string_view>
#include <vector>

namespace weft {

/// All of them, those that take most first.
std::span<const Recipe> recipes();
/// The same, those that ask most of weights and target first: the likeliest to be fast.
std::vector<const Recipe*> recipes_by_likelihood();
/// The one of that name; null where there is none.
const Recipe* recipe_named(std::string_view name);
/// The same; UserError that lists them, and the nearest, where there is none.
const Recipe& known_recipe(std::string_view name);
/// The one of GPUs that weights in the format are for.
const Recipe& recipe_for(const Format& format);

}  // namespace weft
