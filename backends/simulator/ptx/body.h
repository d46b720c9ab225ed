// The body of a function: declarations, labels, instructions, blocks within blocks.
#pragma once

#include <weft/backends/simulator/ptx/lexer.h>
#include <weft/backends/simulator/ptx/module.h>
#include <weft/backends/simulator/ptx/names.h>

#include <cstdint>

namespace weft::simulator::ptx {

/// Reads `{ ... }` into `function`, whose names `names` is collecting.
void read_body(Lexer& lexer, Names& names, Function& function);

/// .loc file line column, and the function that it was inlined into.
Place read_place(Lexer& lexer);
/// .pragma "...", "..."; the one that counts says which bytes of what the next load reads are used.
std::uint32_t read_pragma(Lexer& lexer);

}  // namespace weft::simulator::ptx
