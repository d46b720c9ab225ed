// expect: weft: compile is not given options that it has
// expect: without its name
// fix: return compile(schedule, {.threads = 4});
#include <weft/backends/kernel.h>

using namespace weft;

Kernel program(const Schedule& schedule) {
  return compile(schedule, {4});  // here
}
