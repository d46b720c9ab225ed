// expect: has no kernel
// expect: at least one
// fix: export_package(folder.path() / "ffn", {{exportable()}}, named("ffn"));
#include "illegal_export.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(export_of_nothing) {
  const TemporaryFolder folder;
  export_package(folder.path() / "ffn", {}, named("ffn"));  // here
}
