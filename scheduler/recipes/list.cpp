#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/formats/suggestion.h>
#include <weft/scheduler/recipes/list.h>

#include <algorithm>
#include <array>
#include <functional>
#include <ranges>
#include <regex>
#include <utility>

namespace weft {

// Each is made by a file of its family, recipe.cpp or of that ending.
Recipe default_recipe();
Recipe cpu_rows_recipe();
Recipe cpu_code_recipe();
Recipe cpu_groups_recipe();
Recipe cpu_blocks_recipe();
Recipe cpu_windows_recipe();
Recipe sparsert_recipe();
Recipe sliced_rows_recipe();
Recipe shfl_bw_recipe();
Recipe hb_ell_recipe();
Recipe v_n_m_recipe();
Recipe lane_streams_recipe();

namespace {

constexpr std::size_t most_added = 64;

/// Recipes are pointed to, so that the list has its room from the beginning.
std::vector<Recipe>& all_recipes() {
  static std::vector<Recipe> list = [] {
    const std::array own{default_recipe(),     cpu_rows_recipe(),   cpu_code_recipe(),
                         cpu_groups_recipe(),  cpu_blocks_recipe(), cpu_windows_recipe(),
                         sliced_rows_recipe(), sparsert_recipe(),   shfl_bw_recipe(),
                         hb_ell_recipe(),      v_n_m_recipe(),      lane_streams_recipe()};
    std::vector<Recipe> begun;
    begun.reserve(own.size() + most_added);
    begun.assign(own.begin(), own.end());
    return begun;
  }();
  return list;
}

/// "auto" and what begins like the spaces of schedules have a meaning of their own.
bool can_be_called(std::string_view name) {
  static const std::regex words("[a-z][a-z0-9]*(_[a-z0-9]+)*");
  return std::regex_match(name.begin(), name.end(), words) && name != "auto" &&
         !name.starts_with("schedule_");
}

const char* missing_in(const Recipe& recipe) {
  if (recipe.is_format == nullptr) return "is_format";
  if (recipe.why_not == nullptr) return "why_not";
  if (recipe.choices == nullptr) return "choices";
  return recipe.write == nullptr ? "write" : nullptr;
}

}  // namespace

std::span<const Recipe> recipes() {
  return all_recipes();
}

void add_recipe(Recipe recipe, CallPlace place) {
  user_call(place, [&] {
    const std::string where = fmt::format("add_recipe, recipe \"{}\"", recipe.name);
    if (!can_be_called(recipe.name))
      throw UserError("a recipe cannot have that name", "add_recipe", fmt::format("\"{}\"", recipe.name),
                      "small letters, digits and single underscores, beginning with a letter; not auto, nor "
                      "schedule_ in front");
    if (recipe_named(recipe.name) != nullptr)
      throw UserError("there is a recipe of that name", "add_recipe", std::string(recipe.name),
                      "a name that none has, and each recipe added once");
    if (const char* missing = missing_in(recipe))
      throw UserError("a recipe lacks a function", where, fmt::format("{} = nullptr", missing),
                      "is_format, why_not, choices and write");
    std::vector<Recipe>& all = all_recipes();
    if (all.size() == all.capacity())
      throw UserError("there is no room for another recipe", where, fmt::format("{} of them", all.size()),
                      fmt::format("at most {} recipes of one's own", most_added));
    if (recipe.time == nullptr)
      recipe.time = [](const ProblemSummary& problem, const KnobValues&, const Target&,
                       const Ceilings& ceilings) { return bounds::of_anything(problem, ceilings); };
    all.push_back(std::move(recipe));
  });
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
