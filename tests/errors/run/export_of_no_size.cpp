// expect: is for no size
// expect: 3 to 7
// expect: a multiple of 8
// fix: export_package(folder.path() / "ffn", {{exportable(Extent::any("N", 8)), 8, 16}}, named("ffn"));
#include "illegal_export.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(export_of_no_size) {
  const TemporaryFolder folder;
  export_package(folder.path() / "ffn", {{exportable(Extent::any("N", 8)), 3, 7}}, named("ffn"));  // here
}
