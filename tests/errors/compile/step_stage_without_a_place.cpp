// expect: weft: stage is not told where: `at` is missing
// expect: accepted: .stage("B", shared, at = n.outer)
// fix: s.stage("B", shared, at = n.outer);
#include <weft/dsl/index.h>
#include <weft/scheduler/program/schedule.h>

using namespace weft;

WEFT_INDEX(n);

void program(Schedule& s) {
  s.stage("B", shared);  // here
}
