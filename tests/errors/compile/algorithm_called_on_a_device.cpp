// expect: weft: an algorithm is called
// expect: kernel(Device::cpu(), {{{"B", &b}, {"C", &c}}, {}});
// fix: Kernel kernel = compile(default_schedule(spmm, weights, target_named("cpu")));
// fix: kernel(Device::cpu(), {{{"B", &b}, {"C", &c}}, {}});
#include <weft/backends/kernel.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>

using namespace weft;

void program(const Algorithm& spmm, std::shared_ptr<const SparseTensor> weights, Array& b, Array& c) {
  spmm(Device::cpu(), {{{"B", &b}, {"C", &c}}, {}});  // here
}
