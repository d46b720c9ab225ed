// expect: weft: there is no DType::BF16
// expect: accepted: DType::bf16
// fix: return Array(DType::bf16, {64, 96});
#include <weft/formats/array.h>

#include <vector>

using namespace weft;

Array program() {
  return Array(DType::BF16, {64, 96});  // here
}
