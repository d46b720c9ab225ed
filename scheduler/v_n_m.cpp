#include <weft/dsl/errors.h>
#include <weft/scheduler/default_schedule.h>
#include <weft/scheduler/grouped_product.h>
#include <weft/scheduler/v_n_m.h>

namespace weft {

Schedule v_n_m(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights, const Target& target,
               const ShflBwKnobs& knobs) {
  const std::string& format = weights->format().name;
  const bool keeps_pairs = format == "n_m" || format == "v_n_m";
  if (!keeps_pairs || !has_grouped_product(algorithm, *weights, target))
    return default_schedule(std::move(algorithm), std::move(weights), target);
  if (knobs.instruction == ShflBwInstruction::mma_m16n8k8)
    throw UserError({"sparse tensor cores have no such instruction", algorithm.name, "mma_m16n8k8",
                     "mma_m16n8k16, which stands for mma.sp.m16n8k32, or wgmma"});
  return grouped_product(std::move(algorithm), std::move(weights), target, knobs);
}

}  // namespace weft
