// The knobs of each recipe by name, with their ranges: what --recipe, --set, spaces and records call them.
#pragma once

#include <weft/scheduler/recipes/blocks/hb_ell.h>
#include <weft/scheduler/recipes/blocks/hb_ell_swmma.h>
#include <weft/scheduler/recipes/grouped/shfl_bw.h>
#include <weft/scheduler/recipes/unstructured/sparsert.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// One knob of a recipe.
template <class Knobs>
struct RecipeKnob {
  std::string_view name;
  void (*set)(Knobs& knobs, std::int64_t value);
  std::optional<std::int64_t> (*get)(const Knobs& knobs);  ///< nothing where it is left to the recipe
  std::int64_t most = 1;                                   ///< what the largest GPU has room for
  std::int64_t least = 1;                                  ///< 0 where there can be none of what it counts
  std::span<const std::string_view> words = {};            ///< names of the values 1, 2, …; empty: a number
  std::int64_t multiple = 1;  ///< of which the number is one: instructions are so large
};

/// What Space::Parts::words says of the knobs.
template <class Knobs>
std::map<std::string, std::vector<std::string>> words_of(std::span<const RecipeKnob<Knobs>> knobs) {
  std::map<std::string, std::vector<std::string>> words;
  for (const RecipeKnob<Knobs>& knob : knobs) {
    if (!knob.words.empty()) words[std::string(knob.name)] = {knob.words.begin(), knob.words.end()};
  }
  return words;
}

std::span<const RecipeKnob<SparseRtKnobs>> sparsert_knobs();
std::span<const RecipeKnob<ShflBwKnobs>> shfl_bw_knobs();
std::span<const RecipeKnob<HbEllKnobs>> hb_ell_knobs();
std::span<const RecipeKnob<HbEllSwmmaKnobs>> hb_ell_swmma_knobs();

/// UserError for a knob out of its range: which, its number, and the numbers that there are.
void require_in_range(std::string_view recipe, std::string_view knob, std::int64_t value, std::int64_t least,
                      std::int64_t most, std::int64_t multiple);

/// The same for each of them that was given. Returns those, "tile_n = 64, stages = 2"; nothing where all are
/// left to the recipe.
template <class Knobs>
std::string require_in_range(std::string_view recipe, std::span<const RecipeKnob<Knobs>> known,
                             const Knobs& knobs) {
  std::string given;
  for (const RecipeKnob<Knobs>& knob : known) {
    const std::optional<std::int64_t> value = knob.get(knobs);
    if (!value) continue;
    const auto words = static_cast<std::int64_t>(knob.words.size());
    require_in_range(recipe, knob.name, *value, knob.least, words > 0 ? words : knob.most, knob.multiple);
    given +=
        (given.empty() ? "" : ", ") + std::string(knob.name) + " = " +
        (words > 0 ? std::string(knob.words[static_cast<std::size_t>(*value - 1)]) : std::to_string(*value));
  }
  return given;
}

}  // namespace weft
