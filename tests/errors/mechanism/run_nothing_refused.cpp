// expect: a knob has no usable values
// fix: const LoopFactor factor = m = 64;
#include <weft/dsl/index.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(run_nothing_refused) {
  WEFT_INDEX(m);
  const LoopFactor factor = m = knob("tile_m", {32, 64});  // here
}
