// expect: .bake_values(
// expect: csr:order=dealt
// expect: program spmm
// fix: s = spmm_schedule("sm_80", parse_format("csr:order=dealt,rows=64"));
// fix: s.split(m = 4);
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(bake_balanced_rows) {
  auto s = spmm_schedule("sm_80");
  s.balance(m, parts = 3);  // there
  s.bake_values(m.inner);   // here
}
