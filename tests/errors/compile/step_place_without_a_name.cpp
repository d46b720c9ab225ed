// expect: weft: a step is given a loop, a number or a word without its name
// expect: such as at = k.outer
// fix: s.stage("B", shared, at = k.outer);
#include <weft/dsl/index.h>
#include <weft/scheduler/program/schedule.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

void program(Schedule& s) {
  s.stage("B", shared, k.outer);  // here
}
