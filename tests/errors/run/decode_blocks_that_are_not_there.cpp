// expect: blocks that are not there are kept out by
// expect: program spmm
// fix: s.split(LoopFactor{LoopName("k.block"), 2}).decode("A", shared, at = "m.block");
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(decode_blocks_that_are_not_there) {
  auto s = spmm_schedule("sm_80", parse_format("hb_ell:every=2"));
  s.split(LoopFactor{LoopName("k.block"), 4}).decode("A", shared, at = "m.block");  // here
}
