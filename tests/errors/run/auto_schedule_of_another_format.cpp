// expect: weights that are packed already are in none of the formats
// expect: auto_kernel packs weights anew
// fix: auto_schedule(product(), as(formats::csr()), gpu());
#include "illegal_program.h"
#include "illegal_recipe.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(auto_schedule_of_another_format) {
  auto_schedule(product(), as(formats::csr()), gpu(), {.formats = {formats::bitmap()}});  // here
}
