// expect: weft: there is no step rfactor
// expect: .split_k(k, groups = 8)
// fix: schedule.split_k(k, groups = 8);
#include <weft/scheduler/program/schedule.h>

using namespace weft;

WEFT_INDEX(k);

void program(Schedule& schedule) {
  schedule.rfactor(k, 8);  // here
}
