// expect: no input is called A.vals
// expect: what is read there: A, B, A.column, A.values; did you mean A.values?
// fix: s.stage("A.values", registers, at = m);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(stage_misspelled_array) {
  auto s = spmm_schedule("sm_80", formats::ell());
  s.stage("A.vals", registers, at = m);  // here
}
