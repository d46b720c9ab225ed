#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/formats/suggestion.h>
#include <weft/scheduler/recipes/list.h>

#include <algorithm>
#include <array>
#include <functional>
#include <ranges>
#include <utility>

namespace weft {

// Each is made by the file recipe.cpp of its family.
Recipe default_recipe();
Recipe cpu_rows_recipe();
Recipe sparsert_recipe();
Recipe shfl_bw_recipe();
Recipe hb_ell_recipe();
Recipe v_n_m_recipe();

std::span<const Recipe> recipes() {
  static const std::array list{
      default_recipe(), cpu_rows_recipe(), sparsert_recipe(),
      shfl_bw_recipe(), hb_ell_recipe(),   v_n_m_recipe(),
  };
  return list;
}

std::vector<const Recipe*> recipes_by_likelihood() {
  std::vector<const Recipe*> sorted;
  for (const Recipe& recipe : recipes()) sorted.push_back(&recipe);
  std::ranges::stable_sort(sorted, std::greater(), [](const Recipe* recipe) {
    return std::pair(recipe->of_halves, recipe->of_gpus || recipe->of_cpus);
  });
  return sorted;
}

const Recipe* recipe_named(std::string_view name) {
  const auto found = std::ranges::find(recipes(), name, &Recipe::name);
  return found == recipes().end() ? nullptr : &*found;
}

const Recipe& known_recipe(std::string_view name) {
  if (const Recipe* recipe = recipe_named(name)) return *recipe;
  std::vector<std::string_view> names;
  for (const Recipe* recipe : recipes_by_likelihood()) names.push_back(recipe->name);
  throw UserError("there is no such recipe", "a recipe's name", std::string(name),
                  fmt::format("{}{}", fmt::join(names, ", "), did_you_mean(name, names)));
}

const Recipe& recipe_for(const Format& format) {
  for (const Recipe& recipe : recipes() | std::views::reverse) {
    if (recipe.is_format(format) && !recipe.of_cpus) return recipe;
  }
  throw InternalError("no recipe takes " + format.text());
}

}  // namespace weft
