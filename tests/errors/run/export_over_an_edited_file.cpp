// expect: README.md (edited since it was exported)
// expect: moved elsewhere
// fix: std::filesystem::rename(folder.path() / "ffn/README.md", folder.path() / "notes.md");
// fix: exportable().export_to(folder.path() / "ffn", named("ffn"));
#include "illegal_export.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(export_over_an_edited_file) {
  const TemporaryFolder folder;
  exportable().export_to(folder.path() / "ffn", named("ffn"));
  write_bytes(folder.path() / "ffn/README.md", "my own notes");
  exportable().export_to(folder.path() / "ffn", named("ffn"));  // here
}
