// expect: A.metadata is read beside the sum too
// expect: leave out the step that copies what it is read for
// fix: s.unroll("n", "k.place", "k.block");
#include "illegal_program.h"
#include "illegal_recipe.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(bake_beside_a_staged_list) {
  const WeightMatrix kept = pruned(matrix(), choose_weights(matrix(), formats::v_n_m({.rows = 64}), {}));
  Schedule s = schedule(spmm_algorithm(128, 96, 9, DType::f32), pack(kept, formats::v_n_m({.rows = 64})),
                        target_named("cpu"));
  s.unroll("n", "k.place", "k.block").stage("A.column", registers, at = "m.row");  // there
  s.bake_values("n");                                                              // here
}
