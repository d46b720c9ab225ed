// expect: weft: the name of an argument of a step is called
// fix: s.stage("B", shared, at = k.outer);
#include <weft/scheduler/program/schedule.h>

using namespace weft;

WEFT_INDEX(n, k);

void program(Schedule& s) {
  s.stage("B", shared, at(k.outer));  // here
}
