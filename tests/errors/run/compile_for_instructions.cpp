// expect: there is no processor of that name
// expect: avx512
// expect: x86-64-v4 (AVX-512)
// fix:   compile(test::spmm_schedule("cpu"), {.processor = "x86-64"});
#include "illegal_launch.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(compile_for_instructions) {
  compile(test::spmm_schedule("cpu"), {.processor = "avx512"});  // here
}
