// expect: weft: tune is not given what it takes
// expect: {.trials = 40}
// fix: return tune(s, "cpu", {.trials = 10});
#include <weft/search/trials/tune_schedule.h>

using namespace weft;

Tuned program(const Schedule& s) {
  return tune(s, {.trials = 10});  // here
}
