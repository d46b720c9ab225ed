// expect: weft: a SparseTensor is not made so
// expect: pack(weights, formats::csr())
// fix: return pack(weights, formats::csr());
#include <weft/formats/sparse_tensor.h>

using namespace weft;

SparseTensor program(const WeightMatrix& weights) {
  return SparseTensor(weights, formats::csr());  // here
}
