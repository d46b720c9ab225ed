// expect: weft: parallel is not given what it takes
// expect: .parallel(m) of one loop; .fuse(m, n) makes one of two
// fix: s.fuse(m, n).parallel("m_n");
#include <weft/dsl/index.h>
#include <weft/scheduler/program/schedule.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);

void program(Schedule& s) {
  s.parallel(m, n);  // here
}
