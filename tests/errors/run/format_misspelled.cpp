// expect: a format cannot be understood
// expect: where:    format_misspelled.cpp
// expect: "shfl_bv:V=64"
// expect: did you mean shfl_bw?
// fix: parse_format("shfl_bw:V=64");
#include <weft/formats/sparse_tensor.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(format_misspelled) {
  parse_format("shfl_bv:V=64");  // here
}
