// expect: weft: there is no to_dense; accepted: to_dense(weights)
// fix: return to_dense(weights);
#include <weft/formats/weight_matrix.h>

using namespace weft;

Array program(const WeightMatrix& weights) {
  return weights.to_dense();  // here
}
