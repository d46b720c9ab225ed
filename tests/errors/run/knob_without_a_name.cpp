// expect: a name is not an identifier: knob
// expect: "tile m"
// expect: letters, digits and single underscores
// fix: const LoopFactor factor = m = knob("tile_m", {32, 64});
#include <weft/dsl/index.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(knob_without_a_name) {
  WEFT_INDEX(m);
  const LoopFactor factor = m = knob("tile m", {32, 64});  // here
}
