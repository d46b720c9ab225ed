// expect: weft: the target of a schedule is a text
// expect: accepted: target_named("cpu")
// fix: return schedule(algorithm, weights, target_named("cpu"));
#include <weft/scheduler/program/schedule.h>

using namespace weft;

Schedule program(const Algorithm& algorithm, const SparseTensor& weights) {
  return schedule(algorithm, weights, "cpu");  // here
}
