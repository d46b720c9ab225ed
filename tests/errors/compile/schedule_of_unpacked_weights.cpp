// expect: weft: the weights of a schedule are not packed
// expect: accepted: pack(weights, formats::csr())
// fix: return schedule(algorithm, pack(weights, formats::csr()), target);
#include <weft/scheduler/program/schedule.h>

using namespace weft;

Schedule program(const Algorithm& algorithm, const WeightMatrix& weights, const Target& target) {
  return schedule(algorithm, weights, target);  // here
}
