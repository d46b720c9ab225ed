// expect: weights.npy
// expect: element [1, 2]
// expect: found:    NaN
// expect: finite weights
// fix: weights.set(6, 0.5);
#include <weft/backends/runtime/process.h>
#include <weft/formats/io/read.h>

#include <cmath>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(read_weights_that_are_no_numbers) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "weights.npy").string();
  Array weights(DType::f32, {6, 4});
  weights.set(6, std::nan(""));  // there
  write_npy(path, weights);
  read(path);  // here
}
