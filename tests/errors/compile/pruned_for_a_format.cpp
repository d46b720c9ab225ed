// expect: weft: pruned is not given what it takes
// expect: pruned(weights, choose_weights(
// fix: return pruned(weights, choose_weights(weights, formats::csr(), {.sparsity = 0.75}));
#include <weft/formats/prune/prune.h>

using namespace weft;

WeightMatrix program(const WeightMatrix& weights) {
  return pruned(weights, formats::csr());  // here
}
