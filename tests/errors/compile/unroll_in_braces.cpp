// expect: weft: what unroll is given stands in braces
// fix: s.unroll(m, n);
#include <weft/scheduler/program/schedule.h>

using namespace weft;

void program(Schedule& s, const LoopName& m, const LoopName& n) {
  s.unroll({m, n});  // here
}
