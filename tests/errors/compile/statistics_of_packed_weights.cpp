// expect: weft: statistics is not given what it takes
// expect: before they are packed
// fix: return statistics(weights);
#include <weft/formats/sparse_tensor.h>
#include <weft/formats/statistics/statistics.h>

using namespace weft;

Statistics program(const WeightMatrix& weights) {
  return statistics(pack(weights, formats::csr()));  // here
}
