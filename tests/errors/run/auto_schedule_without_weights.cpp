// expect: the sparse operand A has no weights
// fix: auto_schedule(product(), as(formats::csr()), gpu());
#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(auto_schedule_without_weights) {
  auto_schedule(product(), nullptr, gpu());  // here
}
