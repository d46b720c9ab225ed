// expect: weft: stitch is not told where: `at` is missing
// expect: accepted: .stitch("B", shared, at = "k.block")
// fix: s.stitch("B", shared, at = "k.block");
#include <weft/dsl/index.h>
#include <weft/scheduler/program/schedule.h>

using namespace weft;

WEFT_INDEX(n);

void program(Schedule& s) {
  s.stitch("B", shared);  // here
}
