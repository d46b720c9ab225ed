// expect: B.shared has its columns beside one another
// expect: accepted: a dense operand [n, k], of which stitch makes lines along k
// fix: const DType type = DType::f16;
#include "illegal_program.h"
#include "illegal_recipe.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(tensorize_bytes_along_columns) {
  const DType type = DType::e4m3;  // there
  Schedule s = schedule(product(type), as(formats::dense(), type), target_named("sm_90a"));
  s.split(m = 64, n = 64, k = 32).split(m.inner = 16);
  s.reorder(m.outer, n.outer, k.outer, m.inner.outer, m.inner.inner, n.inner, k.inner);
  s.bind(m.inner.outer, warp);
  s.stage("A", shared, at = k.outer).stage("B", shared, at = k.outer);
  s.tensorize(type == DType::f16 ? "mma_m16n8k16" : "mma_m16n8k32");  // here
}
