// expect: weft: choose_weights is not given options that it has
// expect: .sparsity
// fix: return choose_weights(w, formats::csr(), {.sparsity = 0.5});
#include <weft/formats/prune/prune.h>

using namespace weft;

Pruning program(const WeightMatrix& w) {
  return choose_weights(w, formats::csr(), {.amount = 0.5});  // here
}
