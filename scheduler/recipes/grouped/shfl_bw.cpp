#include <weft/scheduler/recipes/grouped/grouped_product.h>
#include <weft/scheduler/recipes/grouped/shfl_bw.h>
#include <weft/scheduler/recipes/grouped/shfl_bw_tiles.h>
#include <weft/scheduler/recipes/parts/knob.h>
#include <weft/scheduler/recipes/parts/product.h>

namespace weft {

Schedule shfl_bw(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                 const ShflBwKnobs& knobs, std::source_location place) {
  return user_call(place, [&] {
    const RecipeNeeds needs{"shfl_bw", "shfl_bw or vector_wise", "formats::shfl_bw()"};
    const std::string given = require_in_range("shfl_bw", shfl_bw_knobs(), knobs);
    require_format(needs, algorithm, weights.get(), [](const Format& format) {
      return format.name == "shfl_bw" || format.name == "vector_wise";
    });
    if (!has_grouped_product(needs, algorithm, *weights, target))
      return left_to_default(needs, std::move(algorithm), std::move(weights), target, given);
    const ShflBwKnobs chosen = shfl_bw_tiles(algorithm, *weights, target, knobs);
    return with_recipe_named(needs.name, given, [&] {
      return grouped_product(std::move(algorithm), std::move(weights), target, chosen);
    });
  });
}

}  // namespace weft
