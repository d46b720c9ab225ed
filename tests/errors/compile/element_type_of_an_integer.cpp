// expect: weft: there is no DType::int8
// expect: accepted: DType::i8
// fix: return Array(DType::i8, {64, 96});
#include <weft/formats/array.h>

#include <vector>

using namespace weft;

Array program() {
  return Array(DType::int8, {64, 96});  // here
}
