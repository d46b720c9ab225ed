// expect: weft: unroll is not given what it takes
// expect: .unroll(n.inner)
// fix: s.unroll(n.inner);
#include <weft/dsl/index.h>
#include <weft/scheduler/program/schedule.h>

using namespace weft;

WEFT_INDEX(n);

void program(Schedule& s) {
  s.unroll(n.inner, 4);  // here
}
