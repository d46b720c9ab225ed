// The knobs of each recipe by name: what --recipe, --set, spaces and records call them.
#pragma once

#include <weft/scheduler/hb_ell.h>
#include <weft/scheduler/shfl_bw.h>
#include <weft/scheduler/sparsert.h>

#include <cstdint>
#include <map>
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
  std::int64_t least = 1;                        ///< 0 where there can be none of what it counts
  std::span<const std::string_view> words = {};  ///< names of the values 1, 2, …; empty: a number
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

}  // namespace weft
