// expect: a knob has no usable values
// fix: const LoopFactor factor = m = knob("tile_m", {0});
#include <weft/dsl/index.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(run_fix_that_is_none) {
  WEFT_INDEX(m);
  const LoopFactor factor = m = knob("tile_m", {});  // here
}
