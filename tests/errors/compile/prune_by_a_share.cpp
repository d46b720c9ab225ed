// expect: weft: there is no prune
// expect: choose_weights(weights, formats::shfl_bw({.rows = 64}), {.sparsity = 0.75})
// fix: return pruned(weights, choose_weights(weights, formats::csr(), {.sparsity = 0.5}));
#include <weft/formats/prune/prune.h>

using namespace weft;

WeightMatrix program(const WeightMatrix& weights) {
  return prune(weights, 0.5);  // here
}
