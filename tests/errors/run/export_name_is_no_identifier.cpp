// expect: no identifier
// expect: such as ffn_1
// fix: export_package(folder.path() / "ffn", {{exportable()}}, named("ffn_1"));
#include "illegal_export.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(export_name_is_no_identifier) {
  const TemporaryFolder folder;
  export_package(folder.path() / "ffn", {{exportable()}}, named("ffn-1"));  // here
}
