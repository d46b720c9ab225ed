// expect: is a name of <errno.h>
// expect: errno_layer
// fix: export_package(folder.path() / "ffn", {{exportable()}}, named("errno_layer"));
#include "illegal_export.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(export_name_of_a_header) {
  const TemporaryFolder folder;
  export_package(folder.path() / "ffn", {{exportable()}}, named("errno"));  // here
}
