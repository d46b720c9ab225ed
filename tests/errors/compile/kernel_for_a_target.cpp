// expect: weft: compile() takes no target, its schedule was made for one
// expect: accepted: compile(schedule)
// fix: return compile(schedule);
#include <weft/backends/kernel.h>

using namespace weft;

Kernel program(const Schedule& schedule) {
  return compile(schedule, schedule.target());  // here
}
