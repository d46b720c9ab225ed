// expect: a knob has no usable values
// fix: return;
#include <weft/dsl/index.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(run_other_line) {
  WEFT_INDEX(m);
  const LoopFactor factor = m = knob("tile_m", {});
  // here
}
