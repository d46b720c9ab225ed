// expect: weft: auto_schedule is not given what it takes
// expect: std::make_shared<const SparseTensor>(pack(
// fix: const auto packed = std::make_shared<const SparseTensor>(pack(weights, formats::csr()));
// fix: return auto_schedule(product, packed, target);
#include <weft/search/choice/choice.h>

using namespace weft;

Schedule program(const Algorithm& product, const WeightMatrix& weights, const Target& target) {
  return auto_schedule(product, weights, target);  // here
}
