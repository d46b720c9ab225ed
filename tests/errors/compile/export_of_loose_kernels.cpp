// expect: weft: export_package is not given what it takes
// expect: export_package("folder", {{kernel}, {other}}, {.name = "layer"})
// fix: return export_package("out", {{kernel}, {other}}, {.name = "ffn"});
#include <weft/backends/export/export.h>

using namespace weft;

std::vector<std::string> program(const Kernel& kernel, const Kernel& other) {
  return export_package("out", kernel, other, "ffn");  // here
}
