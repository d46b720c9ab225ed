// A tensor of a file as one word: "layer.safetensors:fc1.bias".
#pragma once

#include <string>

namespace weft {

struct FileAndTensor {
  std::string file;
  std::string tensor;  ///< empty where the word names a file alone
};

/// What a word names: a file that is there, whole or up to one of the word's colons; else the word is the
/// file.
FileAndTensor file_and_tensor(const std::string& word);

}  // namespace weft
