// expect: row 0 has 4 non-zeros in columns 0-3, at most 2 allowed
// expect: entries in columns 0, 1, 2, 3
// expect: pruned(weights, choose_weights(weights, format, {}))
// fix: pack(pruned(weights, choose_weights(weights, format, {})), format);
#include <weft/formats/prune/prune.h>
#include <weft/formats/random.h>
#include <weft/formats/sparse_tensor.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(pack_more_than_two_of_four) {
  const WeightMatrix weights = from_dense(random_array(DType::f16, {16, 16}, 1), "made");
  const Format format = formats::n_m({.rows = 16});
  pack(weights, format);  // here
}
