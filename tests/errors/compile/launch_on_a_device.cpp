// expect: weft: a kernel is launched in what is no stream
// expect: found: the type beside Given
// fix: bound.launch(Stream(device));
#include <weft/backends/kernel.h>

using namespace weft;

void program(const BoundKernel& bound, const Device& device) {
  bound.launch(device);  // here
}
