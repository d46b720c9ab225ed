// expect: weft: there is no source
// expect: kernel.cuda_source()
// fix: return kernel.cuda_source();
#include <weft/backends/kernel.h>

using namespace weft;

std::string program(const Kernel& kernel) {
  return kernel.source();  // here
}
