// What --recipe says.
#pragma once

#include <weft/scheduler/recipes/list.h>

#include <memory>
#include <string>
#include <string_view>

namespace weft::tool {

/// A recipe that was chosen on the command line.
struct RecipeChoice {
  const Recipe* recipe = nullptr;
  KnobValues point;  ///< knobs that are not given are left to the recipe
  std::string text;  ///< as it was written
};

/// "default", "sparsert", "sparsert:form=baked,rows=32,groups=4", "shfl_bw:tile_n=256,stages=3",
/// "hb_ell:tile_n=128". The words are those of the recipe's knobs; numbers are from 1, or 0, to a million.
/// UserError that lists what there is for a recipe, a knob or a form that there is not, for a number that
/// cannot be read, and for a knob given twice.
RecipeChoice parse_recipe(std::string_view text);

/// The recipe's schedule. UserError where the weights or the target are none of the recipe's, which would be
/// left to the default schedule, and as the recipes throw it.
Schedule schedule_by_recipe(const RecipeChoice& choice, const Algorithm& algorithm,
                            std::shared_ptr<const SparseTensor> weights, const Target& target);

}  // namespace weft::tool
