// expect: weft: csr is given options without their names
// fix: return formats::csr({.order = RowOrder::dealt});
#include <weft/formats/format.h>

using namespace weft;

Format program() {
  return formats::csr(RowOrder::dealt);  // here
}
