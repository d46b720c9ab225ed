// expect: a synthetic layer cannot be made
// expect: sparsity
// expect: found:    90
// expect: 0 to 1: 0.9 for 90 %
// fix: synthetic_layer({.rows = 16, .columns = 16, .sparsity = 0.9});
#include <weft/formats/synthetic.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(layer_sparse_by_per_cent) {
  synthetic_layer({.rows = 16, .columns = 16, .sparsity = 90});  // here
}
