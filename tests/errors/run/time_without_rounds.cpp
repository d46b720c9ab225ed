// expect: timing a kernel
// expect: rounds = 0
// expect: at least 1
// fix:   time(Device::cpu(), [](StreamHandle) {}, {.rounds = 1});
#include <weft/backends/runtime/timing.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(time_without_rounds) {
  time(Device::cpu(), [](StreamHandle) {}, {.rounds = 0});  // here
}
