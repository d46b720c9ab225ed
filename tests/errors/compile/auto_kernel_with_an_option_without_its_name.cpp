// expect: weft: auto_kernel is not given options that it has
// expect: without its name
// fix: return auto_kernel(algorithm, weights, target, {.points = 4});
#include <weft/search/choice/choice.h>

using namespace weft;

AutoKernel program(const Algorithm& algorithm, const WeightMatrix& weights, const Target& target) {
  return auto_kernel(algorithm, weights, target, {4});  // here
}
