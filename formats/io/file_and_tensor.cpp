#include <weft/formats/io/file_and_tensor.h>

#include <filesystem>
#include <system_error>

namespace weft {

FileAndTensor file_and_tensor(const std::string& word) {
  namespace fs = std::filesystem;
  std::error_code none;
  if (fs::exists(word, none)) return {word, {}};
  for (std::size_t colon = word.find(':'); colon != std::string::npos; colon = word.find(':', colon + 1)) {
    if (fs::is_regular_file(word.substr(0, colon), none))
      return {word.substr(0, colon), word.substr(colon + 1)};
  }
  return {word, {}};
}

}  // namespace weft
