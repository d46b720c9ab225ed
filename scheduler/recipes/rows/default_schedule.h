// The schedule that a kernel gets when nobody chose one. A recipe: it calls steps, as a user would.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/scheduler/recipes/parts/product.h>

#include <memory>
#include <string_view>

namespace weft {

/// A schedule that is right for every algorithm, format and target and reasonable for most.
///
/// CPU: vectors along the last output index that is not a row of the weights, sums in vector registers,
/// threads over column panels or rows. GPU: a warp a row, lanes along the columns, two columns a lane;
/// formats that store by column or by entry give each thread its columns.
Schedule default_schedule(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights,
                          const Target& target, CallPlace place = {});
WEFT_RECIPE_REFUSED(default_schedule, CallPlace = {})

/// The default schedule, where a recipe leaves a target to that. UserError where a knob was given: nothing
/// would follow it. `given` names them, or is empty.
Schedule left_to_default(const RecipeNeeds& needs, Algorithm algorithm,
                         std::shared_ptr<const SparseTensor> weights, const Target& target,
                         std::string_view given);

}  // namespace weft
