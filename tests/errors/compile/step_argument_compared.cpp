// expect: weft: an argument of a step is compared
// fix: s.stage("B", shared, at = k.outer, depth = 2);
#include <weft/scheduler/program/schedule.h>

using namespace weft;

WEFT_INDEX(n, k);

void program(Schedule& s) {
  s.stage("B", shared, at = k.outer, depth == 2);  // here
}
