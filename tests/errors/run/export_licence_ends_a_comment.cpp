// expect: no SPDX expression
// expect: such as MIT
// expect: "*/ evil"
// fix: export_package(folder.path() / "ffn", {{exportable()}}, named("ffn", "MIT"));
#include "illegal_export.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(export_licence_ends_a_comment) {
  const TemporaryFolder folder;
  export_package(folder.path() / "ffn", {{exportable()}}, named("ffn", "*/ evil"));  // here
}
