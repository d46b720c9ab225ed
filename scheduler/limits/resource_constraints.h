// What a program asks of a device, as named conditions over its knobs.
#pragma once

#include <weft/scheduler/hardware/target.h>
#include <weft/scheduler/ir/program.h>
#include <weft/scheduler/limits/constraint.h>

#include <vector>

namespace weft {

/// Registers of a thread that no buffer of the program may claim: addresses, indices, operands on their way.
inline constexpr std::int64_t reserved_registers = 24;

/// Bytes that one array of a CPU thread may take where a kernel is to be fast: a search looks no further.
inline constexpr std::int64_t local_array_bytes = 256 * 1024;

/// Bytes of all arrays of a CPU thread together beyond which a program is not compiled: every worker of a
/// kernel allocates as many.
inline constexpr std::int64_t local_memory_bytes = std::int64_t{1} << 30;

/// The limits of `target` on a tile-level program: threads a block, lanes, warps, shared bytes, register
/// buffers a thread, grid sizes, and that `resident_blocks` blocks fit on a multiprocessor together. On the
/// CPU, only the bytes of local arrays. Numbers that are known only at launch are in no constraint. Every
/// constraint is listed, also those that hold for every value of the knobs. UserError for less than one
/// block.
std::vector<Constraint> resource_constraints(const ir::Program& program, const Target& target,
                                             std::int64_t resident_blocks = 1);

/// What has to hold for a program to be compiled at all: on a GPU the same, with the blocks that the program
/// wants to be resident; on the CPU, that there is memory for the local arrays of a thread.
std::vector<Constraint> compile_constraints(const ir::Program& program, const Target& target);

/// How many threads a block of the program has: 1 or more. Undefined when that is known only at launch.
ir::Expr threads_per_block_of(const ir::Program& program);

}  // namespace weft
