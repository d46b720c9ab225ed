// expect: weft: a target is more than its name
// fix: return target_named("sm_80");
#include <weft/scheduler/hardware/target.h>

using namespace weft;

Target program() {
  return Target("sm_80");  // here
}
