// expect: weft: a Kernel is not made so
// expect: compile(schedule)
// fix: const Kernel kernel = compile(schedule);
#include <weft/backends/kernel.h>

using namespace weft;

Kernel program(const Schedule& schedule) {
  const Kernel kernel(schedule);  // here
  return kernel;
}
