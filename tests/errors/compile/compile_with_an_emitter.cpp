// expect: weft: compile() is given an option without its name; found: an Emitter
// expect: compile(schedule, {.emitter = Emitter::cuda})
// fix: return compile(s, {.emitter = Emitter::cuda});
#include <weft/backends/kernel.h>

using namespace weft;

Kernel program(const Schedule& s) {
  return compile(s, Emitter::cuda);  // here
}
