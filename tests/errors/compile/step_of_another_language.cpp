// expect: weft: there is no step compute_at
// expect: .stage("B", shared, at = n.outer)
// fix: schedule.stage("B", shared, at = n.outer);
#include <weft/scheduler/program/schedule.h>

using namespace weft;

WEFT_INDEX(n);

void program(Schedule& schedule) {
  schedule.split(n = 32);
  schedule.compute_at(n.outer);  // here
}
