// expect: a knob has no usable values
#include <weft/dsl/index.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(run_no_fix) {
  WEFT_INDEX(m);
  const LoopFactor factor = m = knob("tile_m", {});  // here
}
