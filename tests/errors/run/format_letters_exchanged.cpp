// expect: "crs"
// expect: did you mean csr?
// fix: parse_format("csr");
#include <weft/formats/sparse_tensor.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(format_letters_exchanged) {
  parse_format("crs");  // here
}
