// expect: cannot index
// expect: at most 4194240
// expect: kernel 1
// fix: export_package(folder.path() / "ffn", {{exportable(), 1, 4194240}}, named("ffn"));
#include "illegal_export.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(export_of_sizes_beyond_an_index) {
  const TemporaryFolder folder;
  export_package(folder.path() / "ffn", {{exportable(), 1, 1L << 33}}, named("ffn"));  // here
}
