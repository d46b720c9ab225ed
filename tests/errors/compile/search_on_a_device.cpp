// expect: weft: tune is not given what it takes
// expect: the name of a device
// fix: return tune(s, "cpu");
#include <weft/search/trials/tune_schedule.h>

using namespace weft;

Tuned program(const Schedule& s) {
  return tune(s, Device::cpu());  // here
}
