// expect: weft: default_schedule is not given what it takes
// expect: default_schedule(algorithm, weights, target_named("cpu"))
// fix: return default_schedule(product, weights, target);
#include <weft/scheduler/recipes/rows/default_schedule.h>

using namespace weft;

Schedule program(const Algorithm& product, const std::shared_ptr<const SparseTensor>& weights,
                 const Target& target) {
  return default_schedule(product, target, weights);  // here
}
