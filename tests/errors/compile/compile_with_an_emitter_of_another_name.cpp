// expect: weft: there is no Emitter::ptx
// expect: Emitter::llvm, which makes PTX
// fix: return compile(schedule, {.emitter = Emitter::llvm});
#include <weft/backends/kernel.h>

using namespace weft;

Kernel program(const Schedule& schedule) {
  return compile(schedule, {.emitter = Emitter::ptx});  // here
}
