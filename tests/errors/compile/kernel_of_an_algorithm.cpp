// expect: weft: an algorithm is compiled without a schedule
// expect: compile(default_schedule(algorithm, weights, target))
// fix: return compile(default_schedule(algorithm, weights, target));
#include <weft/backends/kernel.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>

using namespace weft;

Kernel program(const Algorithm& algorithm, std::shared_ptr<const SparseTensor> weights,
               const Target& target) {
  return compile(algorithm, weights, target);  // here
}
