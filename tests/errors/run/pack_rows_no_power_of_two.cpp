// expect: a format has a parameter out of range
// expect: shfl_bw:V=48
// expect: found:    V=48
// expect: a power of two from 8 to 256
// fix: pack(from_dense(Array(DType::f32, {64, 32}), "made"), formats::shfl_bw({.rows = 64}));
#include <weft/formats/sparse_tensor.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(pack_rows_no_power_of_two) {
  pack(from_dense(Array(DType::f32, {64, 32}), "made"), formats::shfl_bw({.rows = 48}));  // here
}
