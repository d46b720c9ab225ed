// expect: weft: bcsr is given more than one size
// fix: return formats::bcsr(16);
#include <weft/formats/format.h>

using namespace weft;

Format program() {
  return formats::bcsr(16, 16);  // here
}
