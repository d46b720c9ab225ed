// expect: a knob has no usable values
// expect: knob tile_m
// expect: found:    0
// expect: numbers of at least 1
// fix: const LoopFactor factor = m = knob("tile_m", {32, 64});
#include <weft/dsl/index.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(knob_of_zero) {
  WEFT_INDEX(m);
  const LoopFactor factor = m = knob("tile_m", {0, 32});  // here
}
