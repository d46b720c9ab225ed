// expect: weft: shfl_bw is given options without their names
// expect: {.rows = 64, .places = 32}
// fix: return formats::shfl_bw({.rows = 64});
#include <weft/formats/sparse_tensor.h>

using namespace weft;

Format program() {
  return formats::shfl_bw(64);  // here
}
