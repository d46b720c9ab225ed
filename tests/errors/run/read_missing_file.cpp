// expect: cannot read
// expect: weigths.npy
// expect: no such file; did you mean weights.npy?
// fix: read((folder.path() / "weights.npy").string());
#include <weft/backends/runtime/process.h>
#include <weft/formats/io/read.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(read_missing_file) {
  const TemporaryFolder folder;
  write_npy((folder.path() / "weights.npy").string(), Array(DType::f32, {6, 4}));
  read((folder.path() / "weigths.npy").string());  // here
}
