// expect: no SPDX expression
// expect: names with AND, OR or WITH between them
// fix: export_package(folder.path() / "ffn", {{exportable()}}, named("ffn", "Apache-2.0"));
#include "illegal_export.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(export_licence_with_a_blank) {
  const TemporaryFolder folder;
  export_package(folder.path() / "ffn", {{exportable()}}, named("ffn", "Apache 2.0"));  // here
}
