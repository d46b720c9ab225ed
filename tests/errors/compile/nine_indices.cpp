// expect: weft: WEFT_INDEX is given more than eight names
// expect: a second WEFT_INDEX
// fix: WEFT_INDEX(a, b, c, d, e, f, g, h);
// fix: WEFT_INDEX(i);
#include <weft/dsl/assignment.h>

using namespace weft;

void program() {
  WEFT_INDEX(a, b, c, d, e, f, g, h, i);  // here
}
