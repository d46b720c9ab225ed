// expect: weft: shfl_bw is not given options that it has
// expect: of which rows is V
// fix: return formats::shfl_bw({.rows = 32});
#include <weft/formats/sparse_tensor.h>

using namespace weft;

Format program() {
  return formats::shfl_bw({.V = 32});  // here
}
