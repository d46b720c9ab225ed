// What a program has to be for its warps to take roles.
#pragma once

#include <weft/scheduler/passes/producer_copies.h>
#include <weft/scheduler/program/step.h>

#include <cstdint>
#include <optional>

namespace weft::passes {

/// Why warps of the program cannot take those roles, with the number of the precondition of specialize_warps
/// (2 and 6 to 11). `consumers` are the threads that compute, 0 where a knob still decides about them.
std::optional<Reason> why_no_roles(const ir::Program& program, const ir::WarpRoles& roles,
                                   std::int64_t consumers, const Target& target);

}  // namespace weft::passes
