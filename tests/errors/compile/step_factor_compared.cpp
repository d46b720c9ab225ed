// expect: weft: indices are compared
// expect: in a step one =, such as .split(n = 64)
// fix: s.split(n = 64);
#include <weft/dsl/assignment.h>
#include <weft/scheduler/program/schedule.h>

using namespace weft;

WEFT_INDEX(n);

void program(Schedule& s) {
  s.split(n == 64);  // here
}
