// expect: weft: a Schedule is not made so
// expect: schedule(algorithm, weights, target)
// fix: return schedule(algorithm, target_named("cpu"));
#include <weft/scheduler/program/schedule.h>

using namespace weft;

Schedule program(const Algorithm& algorithm) {
  return Schedule(algorithm);  // here
}
