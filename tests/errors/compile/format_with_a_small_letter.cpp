// expect: weft: hb_ell is not given options that it has
// expect: of which size is b
// fix: return formats::hb_ell({.size = 8});
#include <weft/formats/sparse_tensor.h>

using namespace weft;

Format program() {
  return formats::hb_ell({.b = 8});  // here
}
