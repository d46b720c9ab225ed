#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/dsl/errors.h>
#include <weft/formats/suggestion.h>
#include <weft/scheduler/default_schedule.h>
#include <weft/scheduler/v_n_m.h>
#include <weft/search/spaces/recipe_knobs.h>
#include <weft/search/tool/recipe.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

namespace weft::tool {
namespace {

constexpr std::int64_t most = 1'000'000;  ///< whatever is made of it fits an index

[[noreturn]] void refuse(std::string what, std::string_view found, std::string accepted) {
  throw UserError({std::move(what), "--recipe", std::string(found.substr(0, 100)), std::move(accepted)});
}

std::int64_t number_of(std::string_view recipe, std::string_view word, std::string_view text,
                       std::int64_t least) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least || number > most)
    refuse(fmt::format("a knob of {} cannot be read", recipe), fmt::format("{}={}", word, text),
           fmt::format("a whole number from {} to {}", least, most));
  return number;
}

template <class Knobs>
void set_knob(std::string_view recipe, std::span<const RecipeKnob<Knobs>> known, Knobs& knobs,
              std::string_view word, std::string_view value) {
  const auto found = std::ranges::find(known, word, &RecipeKnob<Knobs>::name);
  if (found == known.end()) {
    std::vector<std::string_view> words;
    for (const RecipeKnob<Knobs>& knob : known) words.push_back(knob.name);
    refuse(fmt::format("{} has no such knob", recipe), word,
           fmt::format("{}{}", fmt::join(words, ", "), did_you_mean(word, words)));
  }
  if (found->words.empty()) return found->set(knobs, number_of(recipe, word, value, found->least));
  const auto named = std::ranges::find(found->words, value);
  if (named == found->words.end())
    refuse(fmt::format("{} has no such {}", recipe, word), value,
           fmt::format("{}{}", fmt::join(found->words, ", "), did_you_mean(value, found->words)));
  found->set(knobs, named - found->words.begin() + 1);
}

}  // namespace

RecipeChoice parse_recipe(std::string_view text) {
  RecipeChoice choice;
  choice.text = std::string(text);
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const std::array<std::string_view, 5> names{"default", "sparsert", "shfl_bw", "hb_ell", "v_n_m"};
  if (std::ranges::find(names, name) == names.end())
    refuse("there is no such recipe", name,
           "default, sparsert, shfl_bw, hb_ell or v_n_m" + did_you_mean(name, names));
  choice.name = std::string(name);
  if (colon == std::string_view::npos) return choice;
  if (choice.name == "default") refuse("the recipe has no knobs", text, "default");
  choice.has_knobs = true;
  std::vector<std::string_view> given;
  std::string_view rest = text.substr(colon + 1);
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos)
      refuse(
          fmt::format("a knob of {} has no value", name), part,
          name == "sparsert" ? "sparsert:form=baked,rows=32" : fmt::format("{}:tile_n=256,stages=3", name));
    const std::string_view word = part.substr(0, equals);
    if (std::ranges::find(given, word) != given.end())
      refuse(fmt::format("a knob of {} is given twice", name), word, "each knob once");
    given.push_back(word);
    const std::string_view value = part.substr(equals + 1);
    if (name == "sparsert") {
      set_knob(name, sparsert_knobs(), choice.knobs, word, value);
    } else if (name == "hb_ell") {
      set_knob(name, hb_ell_knobs(), choice.blocks, word, value);
    } else {
      set_knob(name, shfl_bw_knobs(), choice.grouped, word, value);
    }
    if (comma == std::string_view::npos) return choice;
    rest = rest.substr(comma + 1);
  }
}

Schedule schedule_by_recipe(const RecipeChoice& recipe, const Algorithm& algorithm,
                            std::shared_ptr<const SparseTensor> weights, const Target& target) {
  if (recipe.name == "default") return default_schedule(algorithm, std::move(weights), target);
  if (recipe.name == "shfl_bw" || recipe.name == "hb_ell" || recipe.name == "v_n_m") {
    Schedule chosen = recipe.name == "hb_ell"  ? hb_ell(algorithm, weights, target, recipe.blocks)
                      : recipe.name == "v_n_m" ? v_n_m(algorithm, weights, target, recipe.grouped)
                                               : shfl_bw(algorithm, weights, target, recipe.grouped);
    // The recipe alone knows what it leaves to the default schedule, which never asks for tensor cores.
    if (recipe.has_knobs &&
        std::ranges::find(chosen.steps(), "tensorize", &Step::name) == chosen.steps().end())
      throw UserError(
          {fmt::format("knobs of {} would have no effect", recipe.name), "--recipe " + recipe.text,
           fmt::format("{} of {} for {}", weights->format().text(), name_of(weights->dtype()), target.name),
           fmt::format("{}, for a GPU with such tensor cores",
                       recipe.name == "hb_ell" ? "a product of f16 or bf16 weights in hb_ell with b=16"
                       : recipe.name == "v_n_m"
                           ? "f16 or bf16 weights in n_m, v_n_m, column_quads or hb_ell:pairs=1"
                           : "f16 or bf16 weights in shfl_bw or vector_wise with V=16 or more")});
    return chosen;
  }
  if (recipe.has_knobs && (!target.is_gpu() || weights->format().name != "csr"))
    throw UserError({"knobs of sparsert would have no effect", "--recipe " + recipe.text,
                     fmt::format("{} for {}", weights->format().text(), target.name),
                     "weights in csr, for a GPU"});
  return sparsert(algorithm, std::move(weights), target, recipe.knobs);
}

}  // namespace weft::tool
