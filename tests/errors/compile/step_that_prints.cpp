// expect: weft: there is no step print
// fix: print(s);
#include <weft/backends/kernel.h>

using namespace weft;

WEFT_INDEX(m, n, k);

void program(Schedule& s) {
  s.print();  // here
}
