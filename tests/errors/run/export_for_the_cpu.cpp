// expect: kernels for that target are not exported
// expect: kernel 1
// expect: cpu
// expect: sm_80
// expect: x86-64-v3
// fix: export_package(folder.path() / "ffn", {{exportable(64, "x86-64-v3")}}, named("ffn"));
#include "illegal_export.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(export_for_the_cpu) {
  const TemporaryFolder folder;
  export_package(folder.path() / "ffn", {{exportable(64, "cpu")}}, named("ffn"));  // here
}
