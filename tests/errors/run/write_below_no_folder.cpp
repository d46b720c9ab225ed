// expect: cannot write /nowhere/bias.npy
// expect: No such file or directory
// expect: a path in a folder that is there
// fix: write_npy(folder.path() / "bias.npy", Array(DType::f32, {4}));
#include <weft/backends/runtime/process.h>
#include <weft/formats/io/npy.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(write_below_no_folder) {
  const TemporaryFolder folder;
  write_npy("/nowhere/bias.npy", Array(DType::f32, {4}));  // here
}
