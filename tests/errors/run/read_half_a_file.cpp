// expect: the end of the file, while tensor "fc1.weight" ends at byte
// expect: the file copied or downloaded anew
// fix:   std::filesystem::copy_file(whole, path, std::filesystem::copy_options::overwrite_existing);
// fix:   read(path);
#include <weft/backends/runtime/process.h>
#include <weft/formats/io/read.h>

#include <filesystem>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(read_half_a_file) {
  const TemporaryFolder folder;
  const std::string whole = (folder.path() / "whole.safetensors").string();
  const std::string path = (folder.path() / "model.safetensors").string();
  write_safetensors(whole, {{"fc1.weight", Array(DType::f32, {6, 4})}});
  std::filesystem::copy_file(whole, path);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 8);
  read(path);  // here
}
