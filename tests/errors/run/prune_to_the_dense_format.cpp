// expect: weights cannot be pruned
// expect: the format
// expect: found:    dense
// expect: csr
// fix: choose_weights(weights, formats::csr(), {});
#include <weft/formats/prune/prune.h>
#include <weft/formats/random.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(prune_to_the_dense_format) {
  const WeightMatrix weights = from_dense(random_array(DType::f32, {16, 16}, 1), "made");
  choose_weights(weights, formats::dense(), {});  // here
}
