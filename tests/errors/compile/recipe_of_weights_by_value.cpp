// expect: weft: the weights of a recipe are not packed and shared
// expect: accepted: std::make_shared<const SparseTensor>(pack(weights, formats::csr()))
// fix: return sparsert(algorithm, std::make_shared<const SparseTensor>(weights), target, {.rows = 8});
#include <weft/scheduler/recipes/unstructured/sparsert.h>

using namespace weft;

Schedule program(const Algorithm& algorithm, const SparseTensor& weights, const Target& target) {
  return sparsert(algorithm, weights, target, {.rows = 8});  // here
}
