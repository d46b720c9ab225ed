// Initial values of variables.
#pragma once

#include <weft/backends/simulator/ptx/lexer.h>
#include <weft/backends/simulator/ptx/module.h>
#include <weft/backends/simulator/ptx/names.h>

#include <cstdint>
#include <vector>

namespace weft::simulator::ptx {

/// Reads what follows '=': one value, or values in braces that nest as the `bounds` do. A first bound of 0
/// is open: it becomes what the values fill. Fills `initial` and `references`.
void read_initial(Lexer& lexer, const Names& names, std::vector<std::uint64_t>& bounds, Variable& variable);

}  // namespace weft::simulator::ptx
