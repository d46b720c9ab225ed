// A GPU program in the simulator on operands that are all zeros: whatever it computes, nothing may be wrong
// with how it touches memory.
#pragma once

#include <weft/scheduler/passes/lower.h>

#include <string>

namespace weft::test {

/// What the simulator found in one launch of the PTX of `program`; every open extent is `extent`. Empty:
/// nothing.
std::string findings_on_zeros(const ThreadProgram& program, const std::string& ptx, const Target& target,
                              std::int64_t extent = 5);

}  // namespace weft::test
