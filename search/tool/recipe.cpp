#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/dsl/errors.h>
#include <weft/formats/suggestion.h>
#include <weft/scheduler/recipes/blocks/hb_ell.h>
#include <weft/scheduler/recipes/grouped/shfl_bw.h>
#include <weft/scheduler/recipes/grouped/v_n_m.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/scheduler/recipes/unstructured/sparsert.h>
#include <weft/search/tool/recipe.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

namespace weft::tool {
namespace {

constexpr std::int64_t most_of_knob = 1'000'000;  ///< whatever is made of it fits an index

[[noreturn]] void refuse(std::string what, std::string_view found, std::string accepted) {
  throw UserError({std::move(what), "--recipe", std::string(found.substr(0, 100)), std::move(accepted)});
}

std::int64_t number_of(std::string_view recipe, std::string_view word, std::string_view text,
                       std::int64_t least) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least || number > most_of_knob)
    refuse(fmt::format("a knob of {} cannot be read", recipe), fmt::format("{}={}", word, text),
           fmt::format("a whole number from {} to {}", least, most_of_knob));
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

template <class Knobs>
std::vector<KnobRow> rows_of(std::span<const RecipeKnob<Knobs>> knobs) {
  std::vector<KnobRow> rows;
  for (const RecipeKnob<Knobs>& knob : knobs)
    rows.push_back({knob.name, knob.least, knob.most, knob.multiple, knob.words});
  return rows;
}

constexpr std::array<RecipeRow, 5> known_recipes{{
    {.name = "default",
     .is_format = [](const Format&) { return true; },
     .formats = "every one",
     .of_gpus = false,
     .knobs = [] { return std::vector<KnobRow>(); },
     .example = "weft verify --weights made:M=256,K=512,sparsity=0.9 --n 64 --device cpu"},
    {.name = "sparsert",
     .is_format = [](const Format& format) { return format.name == "csr"; },
     .formats = "--format csr",
     .knobs = [] { return rows_of(sparsert_knobs()); },
     .example = "weft verify --weights made:M=256,K=512,sparsity=0.9 --n 64 --device sim:sm_80 "
                "--recipe sparsert:form=baked,rows=32"},
    {.name = "shfl_bw",
     .is_format =
         [](const Format& format) { return format.name == "shfl_bw" || format.name == "vector_wise"; },
     .formats = "--format shfl_bw:V=64, or vector_wise:V=64",
     .of_halves = true,
     .knobs = [] { return rows_of(shfl_bw_knobs()); },
     .example = "weft verify --weights made:M=256,K=512,sparsity=0.75,V=64 --dtype f16 --n 64 "
                "--device sim:sm_80 --format shfl_bw:V=64 --recipe shfl_bw:tile_n=64,stages=3"},
    {.name = "hb_ell",
     .is_format = [](const Format& format) { return format.name == "hb_ell"; },
     .formats = "--format hb_ell",
     .of_halves = true,
     .knobs = [] { return rows_of(hb_ell_knobs()); },
     .example = "weft verify --weights made:M=256,K=512,sparsity=0.9 --dtype f16 --n 64 "
                "--device sim:sm_80 --format hb_ell --recipe hb_ell:tile_n=64"},
    {.name = "v_n_m",
     .is_format = formats::keeps_two_of_four,
     .formats = "--format column_quads, or n_m, v_n_m or hb_ell:pairs=1",
     .of_halves = true,
     .knobs = [] { return rows_of(shfl_bw_knobs()); },
     .example = "weft verify --weights made:M=256,K=512,of=4 --dtype f16 --n 64 --device sim:sm_80 "
                "--format n_m --recipe v_n_m:tile_n=64"},
}};

/// The row; null where there is none.
const RecipeRow* row_named(std::string_view name) {
  const auto* found = std::ranges::find(known_recipes, name, &RecipeRow::name);
  return found == known_recipes.end() ? nullptr : found;
}

}  // namespace

std::span<const RecipeRow> recipe_rows() {
  return known_recipes;
}

RecipeChoice parse_recipe(std::string_view text) {
  RecipeChoice choice;
  choice.text = std::string(text);
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  if (row_named(name) == nullptr) {
    std::vector<std::string_view> names;
    for (const RecipeRow& row : known_recipes) names.push_back(row.name);
    refuse("there is no such recipe", name,
           "default, sparsert, shfl_bw, hb_ell or v_n_m" + did_you_mean(name, names));
  }
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

namespace {

/// A recipe that is named is followed or refused: nobody asks for the default schedule by another name.
void require_fitting(const RecipeChoice& recipe, const SparseTensor& weights, const Target& target) {
  const RecipeRow& row = *row_named(recipe.name);
  const auto refuse_it = [&](std::string found, std::string_view accepted) {
    throw UserError({fmt::format("the recipe {} does not fit", recipe.name), "--recipe " + recipe.text,
                     std::move(found), fmt::format("{}, or --recipe default", accepted)});
  };
  if (row.of_gpus && !target.is_gpu())
    refuse_it("the target " + target.name, "a GPU: --device sim:sm_90a, --target sm_90a");
  if (!row.is_format(weights.format())) refuse_it("weights in " + weights.format().text(), row.formats);
  if (row.of_halves && weights.dtype() != DType::f16 && weights.dtype() != DType::bf16)
    refuse_it(fmt::format("weights of {}", name_of(weights.dtype())), "--dtype f16 or bf16");
}

}  // namespace

Schedule schedule_by_recipe(const RecipeChoice& recipe, const Algorithm& algorithm,
                            std::shared_ptr<const SparseTensor> weights, const Target& target) {
  require_fitting(recipe, *weights, target);
  if (recipe.name == "default") return default_schedule(algorithm, std::move(weights), target);
  if (recipe.name == "sparsert") return sparsert(algorithm, std::move(weights), target, recipe.knobs);
  Schedule chosen = recipe.name == "hb_ell"  ? hb_ell(algorithm, weights, target, recipe.blocks)
                    : recipe.name == "v_n_m" ? v_n_m(algorithm, weights, target, recipe.grouped)
                                             : shfl_bw(algorithm, weights, target, recipe.grouped);
  // The recipe alone knows what it leaves to the default schedule, which never asks for tensor cores.
  if (std::ranges::find(chosen.steps(), "tensorize", &Step::name) == chosen.steps().end())
    throw UserError(
        {fmt::format("the recipe {} does not fit", recipe.name), "--recipe " + recipe.text,
         fmt::format("{} of {} for {}", weights->format().text(), name_of(weights->dtype()), target.name),
         "a GPU with such tensor cores, such as sm_90a, and groups or blocks of 16 rows or more; "
         "or --recipe default"});
  return chosen;
}

}  // namespace weft::tool
