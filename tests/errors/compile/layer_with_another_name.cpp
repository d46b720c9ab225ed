// expect: weft: a synthetic layer has no field of that name
// expect: {.rows = 64, .columns = 96, .sparsity = 0.9}
// fix: return pack(synthetic_layer({.rows = 64, .columns = 96}), formats::csr());
#include <weft/formats/sparse_tensor.h>
#include <weft/formats/synthetic.h>

using namespace weft;

SparseTensor program() {
  return pack(synthetic_layer({.rows = 64, .cols = 96}), formats::csr());  // here
}
