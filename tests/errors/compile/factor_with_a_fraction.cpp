// expect: weft: a loop is given a factor that is neither an integer nor a knob
// expect: m = 64, or m = knob("tile_m", {32, 64})
// fix: return m = 2;
#include <weft/dsl/index.h>

using namespace weft;

WEFT_INDEX(m);

LoopFactor program() {
  return m = 2.5;  // here
}
