// Dense operands as a command line names them.
#pragma once

#include <weft/formats/array.h>

#include <cstdint>
#include <string>
#include <vector>

namespace weft::tool {

/// Makes an array from "random:SEED", "ints:SEED", "zeros", or a .npy or .safetensors file of that shape, or
/// a tensor of one (file_and_tensor); `notes` hears what was rounded. UserError, naming the flag, for other
/// words, another shape, and values that become infinite.
Array array_of(const std::string& text, DType dtype, std::vector<std::int64_t> shape, const std::string& flag,
               std::vector<std::string>* notes = nullptr);

}  // namespace weft::tool
