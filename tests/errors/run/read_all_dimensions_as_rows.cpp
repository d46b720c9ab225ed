// expect: cannot be used
// expect: the dimensions that are rows
// expect: found:    2 of the 2 of [6, 4]
// expect: row_dimensions = 1
// fix: read(path, {.row_dimensions = 1});
#include <weft/backends/runtime/process.h>
#include <weft/formats/io/read.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(read_all_dimensions_as_rows) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "weights.npy").string();
  write_npy(path, Array(DType::f32, {6, 4}));
  read(path, {.row_dimensions = 2});  // here
}
