// expect: is a name of <stdio.h>
// expect: NULL_layer
// fix: exportable().export_to(folder.path() / "ffn", named("NULL_layer"));
#include "illegal_export.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(export_name_of_a_macro) {
  const TemporaryFolder folder;
  exportable().export_to(folder.path() / "ffn", named("NULL"));  // here
}
