// Dense operands as a command line names them.
#pragma once

#include <weft/formats/array.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::tool {

/// Makes an array from "random:SEED", "ints:SEED", "zeros", or a .npy or .safetensors file of that shape, or
/// a tensor of one (file_and_tensor); `notes` hears what was rounded. UserError, naming the flag, for other
/// words, another shape, and values that become infinite. `other_layout` is the --layout in which a matrix
/// with its dimensions exchanged would be right; empty: there is none. What a flag ends
/// with "scale" for may be one value for all, or of two dimensions, the second 1.
Array array_of(const std::string& text, DType dtype, std::vector<std::int64_t> shape, const std::string& flag,
               std::vector<std::string>* notes = nullptr, std::string_view other_layout = {});

}  // namespace weft::tool
