// expect: a scalar is given as an array
// expect: a number in Arguments::scalars, {{"alpha", 0.5}}
// fix:   kernel(Device::cpu(), {{{"B", &b}, {"C", &c}}, {{"alpha", 0.5}}});
#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(launch_a_scalar_as_an_array) {
  const Algorithm scaled = spmm_algorithm(128, 96, 8, DType::f32, {.alpha = true});
  const Kernel kernel = compile(schedule(scaled, as(formats::csr(), DType::f32), target_named("cpu")));
  Array b(DType::f32, {96, 8}), c(DType::f32, {128, 8}), alpha(DType::f32, {1});
  kernel(Device::cpu(), {{{"B", &b}, {"C", &c}, {"alpha", &alpha}}, {}});  // here
}
