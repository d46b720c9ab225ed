// expect: weft: choose is not given what it takes
// expect: {.recipes = {"shfl_bw"}}
// fix: return choose(product, weights, target, {.recipes = {"shfl_bw"}});
#include <weft/search/choice/choice.h>

using namespace weft;

Choice program(const Algorithm& product, const WeightMatrix& weights, const Target& target) {
  return choose(product, weights, target, "shfl_bw");  // here
}
