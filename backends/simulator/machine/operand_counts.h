// How many operands an instruction has at least, so that a handler finds those that it reads.
#pragma once

#include <cstddef>
#include <string_view>

namespace weft::simulator {

/// Of a scalar instruction; 0 for those whose families count their operands themselves.
std::size_t least_operands(std::string_view opcode);

}  // namespace weft::simulator
