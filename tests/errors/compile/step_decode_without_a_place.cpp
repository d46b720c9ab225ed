// expect: weft: decode is not told where: `at` is missing
// expect: accepted: .decode("A", shared, at = "k.block")
// fix: s.decode("A", shared, at = "k.block");
#include <weft/dsl/index.h>
#include <weft/scheduler/program/schedule.h>

using namespace weft;

WEFT_INDEX(n);

void program(Schedule& s) {
  s.decode("A", shared);  // here
}
