// expect: the output C is the array of the operand B
// expect: one array given as B and as C
// expect: Array of_C(DType::f32, {…}), {"C", &of_C}
// fix:   Array of_C(DType::f32, {20, 8});
// fix:   square(Device::cpu(), {{{"B", &both}, {"C", &of_C}}, {}});
#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(launch_into_an_operand) {
  const WeightMatrix matrix = synthetic_layer({.rows = 20, .columns = 20, .sparsity = 0.7, .seed = 3});
  const auto weights = std::make_shared<const SparseTensor>(pack(matrix, formats::csr()));
  const Algorithm product = spmm_algorithm(20, 20, 8, DType::f32);
  const Kernel square = compile(default_schedule(product, weights, target_named("cpu")));
  Array both(DType::f32, {20, 8});
  square(Device::cpu(), {{{"B", &both}, {"C", &both}}, {}});  // here
}
