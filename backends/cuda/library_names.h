// Names that the headers of the C library have, which CUDA C++ includes and programs beside an exported
// kernel do.
#pragma once

#include <string_view>

namespace weft::cuda {

/// Names that the headers of C and POSIX give a meaning: functions, types and macros as glibc 2.36 and gcc 12
/// have them, each behind the header that a reader thinks of first. The text of library_names.txt.
std::string_view library_names();

/// "<stdio.h>" of a name that it gives a meaning: a function, type or macro; empty of others.
std::string_view library_header_of(std::string_view name);

}  // namespace weft::cuda
