// expect: weft: there is no step interchange
// fix: s.reorder(n, m);
#include <weft/backends/kernel.h>

using namespace weft;

WEFT_INDEX(m, n, k);

void program(Schedule& s) {
  s.interchange(m, n);  // here
}
