// expect: weft: there is no bsr
// expect: formats::bcsr(16)
// fix: return formats::bcsr(16);
#include <weft/formats/format.h>

using namespace weft;

Format program() {
  return formats::bsr(16);  // here
}
