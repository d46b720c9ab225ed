// expect: CUDA C++ has something else of the kernel's name
// expect: signal, a name of <signal.h>
// expect: algorithm("signal_layer", …)
// fix: compile(named_product("signal_layer"), {.assemble = false}).cuda_source();
#include <weft/backends/kernel.h>

#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

static Schedule named_product(const std::string& name) {
  Algorithm algorithm = product();
  algorithm.name = name;
  return default_schedule(algorithm, as(formats::csr()), target_named("sm_80"));
}

WEFT_ILLEGAL_PROGRAM(export_algorithm_named_like_a_function) {
  compile(named_product("signal"), {.assemble = false}).cuda_source();  // here
}
