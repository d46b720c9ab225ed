// Kernels and functions: the head with parameters and limits, and the body.
#pragma once

#include <weft/backends/simulator/ptx/lexer.h>
#include <weft/backends/simulator/ptx/module.h>
#include <weft/backends/simulator/ptx/names.h>

namespace weft::simulator::ptx {

/// Reads what follows ".entry" or ".func" and adds it to the module. Declarations of one function, and its
/// definition, become one.
void read_function(Lexer& lexer, Names& names, Module& module, bool is_entry);

}  // namespace weft::simulator::ptx
