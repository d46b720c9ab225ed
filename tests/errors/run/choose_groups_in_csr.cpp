// expect: no recipe that was asked for takes the problem
// expect: shfl_bw: csr
// expect: or for shfl_bw weights of shfl_bw:V=64, or vector_wise:V=64
// fix: auto_kernel(product(), matrix(DType::f16), gpu(), {.recipes = {"default"}}, {.assemble = false});
#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(choose_groups_in_csr) {
  const ChoiceOptions groups{.formats = {formats::csr()}, .recipes = {"shfl_bw"}};
  auto_kernel(product(), matrix(DType::f16), gpu(), groups, {.assemble = false});  // here
}
