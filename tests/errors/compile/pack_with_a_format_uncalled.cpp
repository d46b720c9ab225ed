// expect: weft: pack is not given what it takes
// expect: a format, which has its ( )
// fix: return pack(layer, formats::csr());
#include <weft/formats/sparse_tensor.h>

using namespace weft;

SparseTensor program(const WeightMatrix& layer) {
  return pack(layer, formats::csr);  // here
}
