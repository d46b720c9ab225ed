// expect: weft: shfl_bw is not given knobs that it has
// expect: .tile_m, .tile_n, .tile_k, .stages
// fix: return shfl_bw(algorithm, weights, target, {.tile_m = 64, .stages = 3});
#include <weft/scheduler/recipes/grouped/shfl_bw.h>

using namespace weft;

Schedule program(const Algorithm& algorithm, std::shared_ptr<const SparseTensor> weights,
                 const Target& target) {
  return shfl_bw(algorithm, weights, target, {.tile_m = 64, .num_stages = 3});  // here
}
