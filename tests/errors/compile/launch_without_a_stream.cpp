// expect: weft: a kernel is launched without a stream
// expect: bound.launch(nullptr)
// fix: bound.launch(nullptr);
#include <weft/backends/kernel.h>

using namespace weft;

void program(const BoundKernel& bound) {
  bound.launch();  // here
}
