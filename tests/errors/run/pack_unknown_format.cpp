// expect: a format cannot be understood
// expect: did you mean csr?
// expect: accepted:
// expect: bcsr
// fix: pack(from_dense(Array(DType::f32, {6, 4}), "made"), Format{"csr", {}});
#include <weft/formats/sparse_tensor.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(pack_unknown_format) {
  pack(from_dense(Array(DType::f32, {6, 4}), "made"), Format{"cssr", {}});  // here
}
