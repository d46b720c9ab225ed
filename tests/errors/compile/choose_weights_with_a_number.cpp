// expect: weft: choose_weights is not given what it takes
// expect: {.sparsity = 0.75}
// fix: return choose_weights(weights, formats::csr(), {.sparsity = 0.75});
#include <weft/formats/prune/prune.h>

using namespace weft;

Pruning program(const WeightMatrix& weights) {
  return choose_weights(weights, formats::csr(), 0.75);  // here
}
