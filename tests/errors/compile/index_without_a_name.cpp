// expect: weft: an index has no name
// expect: WEFT_INDEX(i)
// fix: WEFT_INDEX(i);
#include <weft/dsl/assignment.h>

using namespace weft;

void program() {
  Index i;  // here
}
