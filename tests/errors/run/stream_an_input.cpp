// expect: B is not what the program stores
// expect: .stream_results("C")
// fix: s.stream_results("C");
#include "illegal_program.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(stream_an_input) {
  auto s = spmm_schedule("sm_80");
  s.stream_results("B");  // here
}
