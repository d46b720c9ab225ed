// expect: weft: a word of a step is a text
// expect: block_x, warp, lane or thread
// fix: s.bind(n.inner, thread);
#include <weft/scheduler/program/schedule.h>

using namespace weft;

WEFT_INDEX(n, k);

void program(Schedule& s) {
  s.bind(n.inner, "threadIdx.x");  // here
}
