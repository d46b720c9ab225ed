// expect: weft: sliced_ell is given options without their names
// expect: sliced_ell({.slice = 8, .pad = 4})
// fix: return formats::sliced_ell({.slice = 16});
#include <weft/formats/sparse_tensor.h>

using namespace weft;

Format program() {
  return formats::sliced_ell(16);  // here
}
