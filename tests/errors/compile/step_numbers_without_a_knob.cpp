// expect: weft: an argument of a step is neither an integer nor a knob
// expect: knob("depth", {2, 3})
// fix: s.stage("B", shared, at = k.outer, depth = knob("depth", {2, 3}));
#include <weft/dsl/index.h>
#include <weft/scheduler/program/schedule.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

void program(Schedule& s) {
  s.stage("B", shared, at = k.outer, depth = {2, 3});  // here
}
