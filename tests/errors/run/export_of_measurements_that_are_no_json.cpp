// expect: no JSON
// expect: measured, byte
// expect: one JSON document
// fix: options.measured = R"({"us": 1.5})";
#include "illegal_export.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(export_of_measurements_that_are_no_json) {
  const TemporaryFolder folder;
  ExportOptions options = named("ffn");
  options.measured = R"({"us": fast})";                              // there
  export_package(folder.path() / "ffn", {{exportable()}}, options);  // here
}
