// expect: depth = 1 in registers, or shared
// expect: .stage(
// expect: program spmm
// fix: s.stage("B", registers, at = k, depth = 1);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(stage_registers_ahead) {
  auto s = spmm_schedule("sm_80", formats::dense());
  s.split(n = 8).reorder(k, n.inner);
  s.stage("B", registers, at = k, depth = 2);  // here
}
