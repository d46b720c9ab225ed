// expect: a package is a folder
// expect: a file of that name
// expect: such as
// expect: ffn_package
// fix:   export_package(folder.path() / "ffn_package", {{exportable(), 1, 64}}, named("ffn"));
#include <weft/backends/runtime/process.h>

#include "illegal_export.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(export_into_a_file) {
  const TemporaryFolder folder;
  write_bytes(folder.path() / "ffn", "notes");
  export_package(folder.path() / "ffn", {{exportable(), 1, 64}}, named("ffn"));  // here
}
