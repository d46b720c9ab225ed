// expect: no tensor named "fc3.wieght"; did you mean fc
// expect: "fc1.weight" F32 [6, 4]
// fix: read(path, {.tensor = "fc1.weight"});
#include <weft/backends/runtime/process.h>
#include <weft/formats/io/read.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(read_misnamed_tensor) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "model.safetensors").string();
  write_safetensors(path, {{"fc1.weight", Array(DType::f32, {6, 4})},
                           {"fc3.weight", Array(DType::f32, {2, 6})},
                           {"fc1.bias", Array(DType::f32, {6})}});
  read(path, {.tensor = "fc3.wieght"});  // here
}
