// Text that stands for other text. For files of this folder.
#pragma once

#include <string>
#include <string_view>

namespace weft::llvm_backend {

inline void replace_all(std::string& text, std::string_view old, std::string_view by) {
  for (std::size_t place = 0; (place = text.find(old, place)) != std::string::npos; place += by.size())
    text.replace(place, old.size(), by);
}

}  // namespace weft::llvm_backend
