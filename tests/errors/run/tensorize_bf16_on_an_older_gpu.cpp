// expect: mma_m16n8k8 of bf16 and bf16
// expect: accepted: mma_m16n8k8 of f16: Tensor<f16, 2>(…) for both
// expect: or a target from sm_80 on, which has mma_m16n8k16 for bf16
// fix: const DType type = DType::f16;
#include "illegal_program.h"
#include "illegal_recipe.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(tensorize_bf16_on_an_older_gpu) {
  const DType type = DType::bf16;  // there
  Schedule s = schedule(product(type), as(formats::dense(), type), target_named("sm_75"));
  s.split(m = 64, n = 64, k = 32).split(m.inner = 16);
  s.reorder(m.outer, n.outer, k.outer, m.inner.outer, m.inner.inner, n.inner, k.inner);
  s.bind(m.inner.outer, warp);
  s.stage("A", shared, at = k.outer).stage("B", shared, at = k.outer);
  s.tensorize("mma_m16n8k8");  // here
}
