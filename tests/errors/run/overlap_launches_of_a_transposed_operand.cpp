// expect: B is transposed by a launch in front of the kernel
// fix: s.overlap_launches("A");
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(overlap_launches_of_a_transposed_operand) {
  auto s = spmm_schedule("sm_90");
  s.transpose("B");
  s.overlap_launches("B");  // here
}
