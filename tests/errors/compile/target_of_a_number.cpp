// expect: weft: target_named is not given what it takes
// expect: as a text
// fix: return target_named("sm_90a");
#include <weft/scheduler/hardware/target.h>

using namespace weft;

Target program() {
  return target_named(90);  // here
}
