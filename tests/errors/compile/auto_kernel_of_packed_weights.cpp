// expect: weft: auto_kernel is not given what it takes
// expect: weights that are not packed
// fix: return auto_kernel(product, weights, target);
#include <weft/search/choice/choice.h>

using namespace weft;

AutoKernel program(const Algorithm& product, const WeightMatrix& weights, const Target& target) {
  return auto_kernel(product, pack(weights, formats::csr()), target);  // here
}
