// expect: model.safetensors
// expect: 2 tensors of two or more dimensions, and none was named
// expect: ReadOptions.tensor
// expect: "fc2.weight" F32 [2, 6]
// fix: read(path, {.tensor = "fc1.weight"});
#include <weft/backends/runtime/process.h>
#include <weft/formats/io/read.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(read_one_of_several_tensors) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "model.safetensors").string();
  write_safetensors(path, {{"fc1.weight", Array(DType::f32, {6, 4})},
                           {"fc2.weight", Array(DType::f32, {2, 6})},
                           {"fc1.bias", Array(DType::f32, {6})}});
  read(path);  // here
}
