// expect: weft: the target of a recipe is a text
// expect: accepted: target_named("cpu")
// fix: return default_schedule(algorithm, weights, target_named("sm_80"));
#include <weft/scheduler/recipes/rows/default_schedule.h>

using namespace weft;

Schedule program(const Algorithm& algorithm, const std::shared_ptr<const SparseTensor>& weights) {
  return default_schedule(algorithm, weights, "sm_80");  // here
}
