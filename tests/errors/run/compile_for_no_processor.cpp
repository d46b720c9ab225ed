// expect: code for that processor cannot run here
// expect: i386
// expect: native
// fix:   compile(test::spmm_schedule("cpu"), {.processor = "native"});
#include "illegal_launch.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(compile_for_no_processor) {
  compile(test::spmm_schedule("cpu"), {.processor = "i386"});  // here
}
