// expect: weft: shfl_bw has no option of that name in C++
// expect: of which rows is V
// fix: return formats::shfl_bw({.rows = 32});
#include <weft/formats/sparse_tensor.h>

using namespace weft;

Format program() {
  return formats::shfl_bw({.V = 32});  // here
}
