// expect: weft: loops are asked back of a step that goes on with the schedule
// expect: auto [outer, inner] = s.split(n, 64)
// fix: auto [outer, inner] = s.split(n, 64);
#include <weft/dsl/index.h>
#include <weft/scheduler/program/schedule.h>

using namespace weft;

WEFT_INDEX(n);

void program(Schedule& s) {
  auto [outer, inner] = s.split(n = 64);  // here
  s.vectorize(inner);
}
