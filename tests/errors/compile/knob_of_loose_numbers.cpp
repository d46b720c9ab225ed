// expect: weft: knob is not given what it takes
// expect: knob("tile_m", {32, 64})
// fix: return n = knob("tile_n", {32, 64});
#include <weft/dsl/index.h>

using namespace weft;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

LoopFactor program() {
  return n = knob("tile_n", 32, 64);  // here
}
