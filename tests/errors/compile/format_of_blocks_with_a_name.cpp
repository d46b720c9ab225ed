// expect: weft: bcsr is not given options that it has
// expect: bcsr(32)
// fix: return formats::bcsr(32);
#include <weft/formats/sparse_tensor.h>

using namespace weft;

Format program() {
  return formats::bcsr({.size = 32});  // here
}
