// expect: weft: a schedule is tuned on a Device
// expect: the name of one in its place
// fix: return tune(s, "cpu");
#include <weft/search/trials/tune_schedule.h>

using namespace weft;

Tuned program(const Schedule& s) {
  return tune(s, Device::cpu());  // here
}
