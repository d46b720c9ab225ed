// expect: no recipe that was asked for takes the problem
// expect: shfl_bw: csr
// expect: or for shfl_bw the format shfl_bw
// fix: auto_kernel(product(), matrix(DType::f16), gpu(), {.recipes = {"shfl_bw"}}, {.assemble = false});
#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(choose_groups_in_csr) {
  const ChoiceOptions groups{.formats = {formats::csr()}, .recipes = {"shfl_bw"}};
  auto_kernel(product(), matrix(DType::f16), gpu(), groups, {.assemble = false});  // here
}
