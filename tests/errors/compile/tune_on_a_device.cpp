// expect: weft: a schedule is tuned on a Device
// fix: return tune(s, "cpu", {.trials = 2});
#include <weft/search/trials/tune_schedule.h>

using namespace weft;

Tuned program(const Schedule& s) {
  return tune(s, Device::cpu(), {.trials = 2});  // here
}
