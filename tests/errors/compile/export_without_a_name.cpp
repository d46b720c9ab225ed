// expect: weft: export_to is not given what it takes
// expect: {.name = "layer"}
// fix: return kernel.export_to("folder", {.name = "layer"});
#include <weft/backends/export/export.h>
#include <weft/backends/kernel.h>

using namespace weft;

std::vector<std::string> program(const Kernel& kernel) {
  return kernel.export_to("folder");  // here
}
