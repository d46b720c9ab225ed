// expect: weft: v_n_m is not given options that it has
// expect: rows is V and columns is M
// fix: return formats::v_n_m({.rows = 64, .columns = 16});
#include <weft/formats/sparse_tensor.h>

using namespace weft;

Format program() {
  return formats::v_n_m({.V = 64, .M = 16});  // here
}
