#include <sched.h>
#include <weft/dsl/processors.h>

#include <algorithm>
#include <thread>

namespace weft {

unsigned processors() {
  cpu_set_t mask;
  // A machine of more processors than the mask holds is counted as a whole.
  if (sched_getaffinity(0, sizeof mask, &mask) == 0)
    return static_cast<unsigned>(std::max(1, CPU_COUNT(&mask)));
  return std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace weft
