// expect: the places of the weights' entries cannot be replaced
// expect: A.column
// expect: A.values, B, C; for other places a kernel that is compiled for weights
// fix:   launched.bound().upload("A.values", launched.kernel.schedule().weights()->array("values"));
#include "illegal_launch.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(upload_coordinates) {
  LaunchedProduct launched;
  launched.bound().upload("A.column", launched.kernel.schedule().weights()->array("column"));  // here
}
