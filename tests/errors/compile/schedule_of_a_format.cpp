// expect: weft: schedule is not given what it takes
// expect: pack(weights, formats::csr())
// fix: return schedule(product, pack(weights, formats::csr()), target);
#include <weft/scheduler/program/schedule.h>

using namespace weft;

Schedule program(const Algorithm& product, const WeightMatrix& weights, const Target& target) {
  return schedule(product, formats::csr(), target);  // here
}
