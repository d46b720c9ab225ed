// What others call the things that weft has names for.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace weft::tool {

/// "; did you mean f16?" for "float16", where f16 is one of the names, else for the name that is nearest;
/// nothing where none is. Case and blanks around the word count for nothing.
std::string meant_by(std::string_view word, std::span<const std::string_view> names);

}  // namespace weft::tool
