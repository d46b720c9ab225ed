// expect: weft: there is no step compile
// fix: compile(s);
#include <weft/backends/kernel.h>

using namespace weft;

WEFT_INDEX(m, n, k);

void program(Schedule& s) {
  s.compile();  // here
}
