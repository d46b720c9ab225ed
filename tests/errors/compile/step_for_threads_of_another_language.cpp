// expect: weft: there is no step gpu_threads
// expect: .bind(n.inner, thread)
// fix: s.bind(n.inner, thread);
#include <weft/scheduler/program/schedule.h>

using namespace weft;

WEFT_INDEX(n, k);

void program(Schedule& s) {
  s.gpu_threads(n.inner);  // here
}
