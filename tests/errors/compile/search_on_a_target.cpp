// expect: weft: a schedule is tuned on a target
// expect: "cpu", "cuda" or "sim:sm_90a"
// fix: return tune(schedule, "cpu");
#include <weft/search/trials/tune_schedule.h>

using namespace weft;

Tuned program(const Schedule& schedule) {
  return tune(schedule, target_named("cpu"));  // here
}
