// expect: weft: bind is not given what it takes
// expect: .bind(n.outer, block_x), as docs/steps.md and weft steps bind have it
// fix: s.bind(n.outer, block_x);
#include <weft/dsl/index.h>
#include <weft/scheduler/program/schedule.h>

using namespace weft;

WEFT_INDEX(n);

void program(Schedule& s) {
  s.bind(n.outer);  // here
}
