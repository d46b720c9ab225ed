// expect: a format has a parameter that it does not know
// expect: found:    row
// expect: did you mean rows?
// fix: pack(from_dense(Array(DType::f32, {6, 4}), "made"), parse_format("csr:order=dealt,rows=2"));
#include <weft/formats/sparse_tensor.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(pack_unknown_parameter) {
  pack(from_dense(Array(DType::f32, {6, 4}), "made"), parse_format("csr:order=dealt,row=2"));  // here
}
