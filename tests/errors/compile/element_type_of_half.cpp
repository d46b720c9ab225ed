// expect: weft: there is no DType::half
// expect: accepted: DType::f16
// fix: return Array(DType::f16, {64, 96});
#include <weft/formats/array.h>

#include <vector>

using namespace weft;

Array program() {
  return Array(DType::half, {64, 96});  // here
}
