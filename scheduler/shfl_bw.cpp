#include <weft/scheduler/default_schedule.h>
#include <weft/scheduler/grouped_product.h>
#include <weft/scheduler/shfl_bw.h>
#include <weft/scheduler/shfl_bw_tiles.h>

namespace weft {

Schedule shfl_bw(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
                 const ShflBwKnobs& knobs) {
  const std::string& format = weights->format().name;
  const bool is_grouped = format == "shfl_bw" || format == "vector_wise";
  if (!is_grouped || !has_grouped_product(algorithm, *weights, target))
    return default_schedule(std::move(algorithm), std::move(weights), target);
  const ShflBwKnobs chosen = shfl_bw_tiles(algorithm, *weights, target, knobs);
  return grouped_product(std::move(algorithm), std::move(weights), target, chosen);
}

}  // namespace weft
