// expect: weights cannot be pruned
// expect: the sparsity
// expect: 0.9 of n_m
// expect: 0.5, which follows from the pattern, or none
// fix: choose_weights(weights, formats::n_m(), {.sparsity = 0.5});
#include <weft/formats/prune/prune.h>
#include <weft/formats/random.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(prune_pattern_to_another_sparsity) {
  const WeightMatrix weights = from_dense(random_array(DType::f32, {16, 16}, 1), "made");
  choose_weights(weights, formats::n_m(), {.sparsity = 0.9});  // here
}
