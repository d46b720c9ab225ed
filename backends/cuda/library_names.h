// Names that the headers of the C library have, which CUDA C++ includes and programs beside an exported
// kernel do.
#pragma once

#include <string_view>

namespace weft::cuda {

/// "<stdio.h>" of a name that it gives a meaning: a function, type or macro; empty of others.
std::string_view library_header_of(std::string_view name);

}  // namespace weft::cuda
