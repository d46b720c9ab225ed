// expect: weft: there is no thread_x
// expect: accepted: thread, or warp and lane
// fix: s.bind(n.inner, thread);
#include <weft/scheduler/program/schedule.h>

using namespace weft;

WEFT_INDEX(n, k);

void program(Schedule& s) {
  s.bind(n.inner, thread_x);  // here
}
