// weft recipes: the ways to make a schedule that have a name.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/formats/format.h>
#include <weft/scheduler/recipes/list.h>
#include <weft/search/tool/pages.h>
#include <weft/search/tool/table.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace weft::tool {
namespace {

std::string table_of_recipes() {
  Table table({"recipe", "what it makes"});
  for (const Recipe& recipe : recipes()) table.row({std::string(recipe.name), std::string(recipe.summary)});
  return table.text();
}

std::int64_t least_of(const RecipeKnob& knob) {
  return knob.multiple > 1 ? std::max(knob.least, knob.multiple) : knob.least;
}

std::string values_of(const RecipeKnob& knob) {
  if (!knob.words.empty()) return fmt::format("{}", fmt::join(knob.words, ", "));
  std::string text = fmt::format("{} to {}", least_of(knob), knob.most);
  if (knob.multiple > 1) text += fmt::format(", multiples of {}", knob.multiple);
  return text;
}

std::string_view types_of(const Recipe& recipe) {
  if (recipe.of_bytes) return "f16, bf16, and of products e4m3, e5m2, i8";
  return recipe.of_halves ? "f16, bf16" : "f16, bf16, f32, f64";
}

std::string_view targets_of(const Recipe& recipe) {
  return recipe.of_gpus ? "GPUs" : recipe.of_cpus ? "cpu" : "GPUs, cpu";
}

std::string page_of_recipe(std::string_view name) {
  const Recipe& recipe = *recipe_named(name);
  std::string text = fmt::format("{}: {}\n\nformats  {}\ntypes    {}\ntargets  {}\n", name, recipe.summary,
                                 recipe.formats, types_of(recipe), targets_of(recipe));
  Table table({"knob", "values"});
  for (const RecipeKnob& knob : recipe.knobs) table.row({std::string(knob.name), values_of(knob)});
  if (!recipe.knobs.empty()) text += "\nKnobs that are not given are left to the recipe.\n" + table.text();
  return text + fmt::format("\nExample: {}\n", recipe.example);
}

nlohmann::ordered_json json_of_recipe(std::string_view name) {
  const Recipe& recipe = *recipe_named(name);
  nlohmann::ordered_json document{{"name", name},
                                  {"summary", recipe.summary},
                                  {"formats", recipe.formats},
                                  {"types", types_of(recipe)},
                                  {"targets", targets_of(recipe)}};
  document["knobs"] = nlohmann::ordered_json::array();
  for (const RecipeKnob& knob : recipe.knobs) {
    nlohmann::ordered_json entry{{"name", knob.name}};
    if (knob.words.empty()) {
      entry["least"] = least_of(knob);
      entry["most"] = knob.most;
      entry["multiple"] = knob.multiple;
    } else {
      entry["words"] = knob.words;
    }
    document["knobs"].push_back(entry);
  }
  return document;
}

}  // namespace

void add_recipes(CLI::App& app, Action& action) {
  add_pages(app, action,
            {.verb = "recipes",
             .one = "recipe",
             .summary = "the ways to make a schedule that have a name",
             .example = "shfl_bw",
             .names = [] { return names_of(recipes()); },
             .table = table_of_recipes,
             .page = page_of_recipe,
             .json = json_of_recipe});
}

}  // namespace weft::tool
