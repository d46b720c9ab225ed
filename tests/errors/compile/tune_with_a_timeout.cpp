// expect: weft: tune is not given options that it has
// expect: .seconds
// fix: return tune(s, "cpu", {.trials = 10, .seconds = 5});
#include <weft/search/trials/tune_schedule.h>

using namespace weft;

Tuned program(const Schedule& s) {
  return tune(s, "cpu", {.trials = 10, .timeout = 5});  // here
}
