// expect: weft: choose has no option of that name
// expect: .formats
// fix: return choose(a, w, t, {.formats = {formats::csr()}});
#include <weft/search/choice/choice.h>

using namespace weft;

Choice program(const Algorithm& a, const WeightMatrix& w, const Target& t) {
  return choose(a, w, t, {.format = formats::csr()});  // here
}
