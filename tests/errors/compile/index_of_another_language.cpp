// expect: weft: there is no Var
// expect: WEFT_INDEX(m, n, k);
// fix:   WEFT_INDEX(m);
#include <weft/dsl/assignment.h>

using namespace weft;

void program() {
  const Var m("m");  // here
}
