// expect: weft: there is no step pipeline
// fix: s.stage("B", shared, at = k.outer, depth = 3);
#include <weft/backends/kernel.h>

using namespace weft;

WEFT_INDEX(m, n, k);

void program(Schedule& s) {
  s.pipeline(k.outer, 3);  // here
}
