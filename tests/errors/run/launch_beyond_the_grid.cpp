// expect: 70000 blocks of n, which is bound to block_y
// expect: .bind(n, block_x), and what is bound to block_x to block_y
// fix:   s.bind(m, block_y).reorder(m, n).bind(n, block_x);
#include <weft/backends/simulator/device.h>

#include "illegal_program.h"
#include "illegal_recipe.h"
#include "illegal_schedule.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(launch_beyond_the_grid) {
  const WeightMatrix layer = synthetic_layer({.rows = 4, .columns = 8, .sparsity = 0.5});
  Schedule s =
      schedule(spmm_algorithm(4, 8, Extent::any("N"), DType::f32), pack(layer, formats::csr()), gpu());
  s.bind(m, block_x).reorder(m, n).bind(n, block_y);  // there
  const Kernel kernel = compile(s, {.assemble = false});
  Array b(DType::f32, {8, 70'000}), c(DType::f32, {4, 70'000});
  kernel.bind(Device::simulator("sm_90a"), {{{"B", &b}, {"C", &c}}, {}});  // here
}
