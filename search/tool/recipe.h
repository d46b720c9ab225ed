// What --recipe says.
#pragma once

#include <weft/scheduler/recipes/blocks/hb_ell.h>
#include <weft/scheduler/recipes/grouped/shfl_bw.h>
#include <weft/scheduler/recipes/unstructured/sparsert.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::tool {

/// A knob of a recipe, whatever struct it sets.
struct KnobRow {
  std::string_view name;
  std::int64_t least = 1;
  std::int64_t most = 1;
  std::int64_t multiple = 1;
  std::span<const std::string_view> words = {};  ///< in place of numbers
};

/// What a recipe takes, in the words of the command line. Its summary stands in recipe_spaces().
struct RecipeRow {
  std::string_view name;
  bool (*is_format)(const Format& format);
  std::string_view formats;
  bool of_halves = false;  ///< f16 and bf16 alone
  bool of_gpus = true;     ///< not the CPU
  std::vector<KnobRow> (*knobs)();
  std::string_view example;
};

/// All that --recipe takes.
std::span<const RecipeRow> recipe_rows();

/// A recipe that was chosen on the command line.
struct RecipeChoice {
  std::string name = "default";  ///< default, sparsert, shfl_bw, hb_ell or v_n_m
  bool has_knobs = false;        ///< some were given, so that the recipe must be able to follow them
  SparseRtKnobs knobs;           ///< those not given are left to the recipe
  ShflBwKnobs grouped;           ///< the same of shfl_bw and v_n_m
  HbEllKnobs blocks;             ///< the same of hb_ell
  std::string text = "default";  ///< as it was written
};

/// "default", "sparsert", "sparsert:form=baked,rows=32,groups=4", "shfl_bw:tile_n=256,stages=3",
/// "hb_ell:tile_n=128". The words are those of scheduler/recipes/parts/knob.h; numbers are from 1, or 0, to
/// a million. UserError that lists what there is for a recipe, a knob or a form that there is not, for a
/// number that cannot be read, and for a knob given twice.
RecipeChoice parse_recipe(std::string_view text);

/// The recipe's schedule. UserError where the weights or the target are none of the recipe's, which would be
/// left to the default schedule, and as the recipes throw it.
Schedule schedule_by_recipe(const RecipeChoice& recipe, const Algorithm& algorithm,
                            std::shared_ptr<const SparseTensor> weights, const Target& target);

}  // namespace weft::tool
