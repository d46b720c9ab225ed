// expect: weft: there is no operator()
// expect: bound.launch(nullptr)
// fix: bound.launch(nullptr);
#include <weft/backends/kernel.h>

using namespace weft;

void program(const BoundKernel& bound) {
  bound();  // here
}
