// expect: weft: unroll is not given what it takes
// expect: .split(n = 4)
// fix: s.split(n = 4).unroll(n.inner);
#include <weft/dsl/index.h>
#include <weft/scheduler/program/schedule.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

void program(Schedule& s) {
  s.unroll(n, 4);  // here
}
