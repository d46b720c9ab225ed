// expect: weft: a Scalar has no name
// expect: Scalar alpha("alpha")
// fix: return Scalar("alpha");
#include <weft/dsl/assignment.h>

using namespace weft;

Scalar program() {
  return Scalar();  // here
}
