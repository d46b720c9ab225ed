// expect: weft: choose is not given options that it has
// expect: .formats
// fix: return choose(a, w, t, {.formats = {formats::csr()}});
#include <weft/search/choice/choice.h>

using namespace weft;

Choice program(const Algorithm& a, const WeightMatrix& w, const Target& t) {
  return choose(a, w, t, {.format = formats::csr()});  // here
}
