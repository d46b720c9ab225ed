// expect: weft: there is no run
// expect: bound.launch(nullptr)
// fix: bound.launch(nullptr);
#include <weft/backends/kernel.h>

using namespace weft;

void program(const BoundKernel& bound, Array& b) {
  const auto result = bound.run(b);  // here
}
