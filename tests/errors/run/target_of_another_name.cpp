// expect: there is no target of that name
// expect: "sm_81"
// expect: did you mean sm_80
// fix: spmm_schedule(target_named("sm_80").name.c_str());
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(target_of_another_name) {
  spmm_schedule(target_named("sm_81").name.c_str());  // here
}
