// expect: only kernels for GPUs
// expect: kernel 1
// expect: cpu
// expect: sm_80
// fix: export_package(folder.path() / "ffn", {{exportable(64, "sm_80")}}, named("ffn"));
#include "illegal_export.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(export_for_the_cpu) {
  const TemporaryFolder folder;
  export_package(folder.path() / "ffn", {{exportable(64, "cpu")}}, named("ffn"));  // here
}
