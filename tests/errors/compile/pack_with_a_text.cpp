// expect: weft: weights are packed with a text
// expect: accepted: formats::csr()
// fix: return pack(weights, formats::csr());
#include <weft/formats/sparse_tensor.h>

using namespace weft;

SparseTensor program(const WeightMatrix& weights) {
  return pack(weights, "csr");  // here
}
