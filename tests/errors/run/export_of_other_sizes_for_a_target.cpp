// expect: targets of a package have kernels for different sizes
// expect: target sm_90
// expect: 1 to 64
// expect: 1 to 512, as sm_80 has them
// fix: export_package(folder.path() / "ffn", {{exportable(), 1, 512}, {newer, 1, 512}}, named("ffn"));
#include "illegal_export.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(export_of_other_sizes_for_a_target) {
  const TemporaryFolder folder;
  const Kernel newer = exportable(Extent::any("N"), "sm_90");
  export_package(folder.path() / "ffn", {{exportable(), 1, 512}, {newer, 1, 64}}, named("ffn"));  // here
}
