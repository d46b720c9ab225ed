// Which names mean something already where a package is used. For files of this folder.
#pragma once

#include <string>
#include <string_view>

namespace weft::exporting {

/// Whether it is spelled as names are in C, C++, Python and CMake: letters, digits and single underscores,
/// beginning with a letter.
bool is_spelled_as_name(std::string_view name);

/// What C, C++, CUDA C++ or Python mean by a word that can name nothing there: "a word of C and C++"; empty
/// where they mean nothing.
std::string meaning_as_word(std::string_view name);

/// What else stands in the way of a package of that name, whose library, header, type and module are called
/// so: "a name of <stdio.h>", "the name of the header <string.h>", "a module of Python"; empty where nothing
/// does.
std::string meaning_as_name(std::string_view name);

}  // namespace weft::exporting
