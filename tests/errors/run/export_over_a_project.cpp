// expect: not written over files that no export made
// expect: README.md
// expect: another folder
// fix: export_package(folder.path() / "ffn", {{exportable()}}, named("ffn"));
#include "illegal_export.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(export_over_a_project) {
  const TemporaryFolder folder;
  write_bytes(folder.path() / "README.md", "my own project");
  export_package(folder.path(), {{exportable()}}, named("ffn"));  // here
}
