// expect: a knob has no usable values
// expect: 32 twice
// expect: different numbers
// fix: const LoopFactor factor = m = knob("tile_m", {32, 64});
#include <weft/dsl/index.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(knob_of_a_number_twice) {
  WEFT_INDEX(m);
  const LoopFactor factor = m = knob("tile_m", {32, 32});  // here
}
