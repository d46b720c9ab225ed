// expect: weft: vectorize is not given what it takes
// expect: .vectorize(n.inner) of one loop, which .split(n = 16) makes
// fix: s.split(n = 16).vectorize(n.inner);
#include <weft/dsl/index.h>
#include <weft/scheduler/program/schedule.h>

using namespace weft;

WEFT_INDEX(n);

void program(Schedule& s) {
  s.vectorize(n = 16);  // here
}
