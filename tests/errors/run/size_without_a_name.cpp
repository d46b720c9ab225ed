// expect: a size that is given at launch has no name
// expect: such as Extent::any("N")
// fix: const Tensor<f32, 2> B("B", {64, Extent::any("N")});
#include <weft/dsl/assignment.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(size_without_a_name) {
  const Tensor<f32, 2> B("B", {64, Extent::any("")});  // here
}
