// The passes, one a file. Their order, and why, stands in lower.cpp.
#pragma once

#include <weft/scheduler/ir/program.h>
#include <weft/scheduler/passes/lower.h>

#include <cstdint>

namespace weft::passes {

/// Tensor operations become the loop nests that they mean.
ir::Program run_by_meaning(ir::Program program);
/// Tensor operations become instructions: loops over those of a tile, loads of fragments from shared memory,
/// fences and waits. Later passes give each thread its registers.
ir::Program lower_tensor_operations(ir::Program program, bool has_bulk_copies);

/// Vectorized loops move inwards past serial loops and allocations, so that they hold no sum of their own.
ir::Program sink_vector_loops(ir::Program program);

/// Register buffers lose the dimensions that are indexed by warp, lane and thread loops: every thread has its
/// own. UserError when one thread would need another's register.
ir::Program make_registers_private(ir::Program program);

/// Where warps have roles: those beyond the first `consumers` threads start the copies of the program's ring,
/// the others do the rest.
ir::Program specialize_warps(ir::Program program, std::int64_t consumers, Arrivals arrivals);
/// Barriers of a role are waited at by its threads alone.
ir::Program wait_within_roles(ir::Program program, std::int64_t consumers);

/// Where warps have roles: which rows the results of a tile go to, and what each row has one of, such as its
/// bias, is loaded before its sum, not behind it, when nothing else is left to do.
ir::Program ask_before_sum(ir::Program program);

/// Asynchronous copies are started as many iterations ahead as their buffers allow, and waited for at the
/// begin of the iteration that reads them.
ir::Program run_copies_ahead(ir::Program program);
/// Unrolled loops that choose a branch by the number of the iteration are written out: each iteration keeps
/// its own branch.
ir::Program write_out_choices(ir::Program program);

/// Copies become loops that the threads of a block share (`threads` of them), between barriers; asynchronous
/// ones become those that each thread starts. On the CPU (threads == 0) plain loops. `starts_copies`: the
/// target has copies that go on by themselves, so that all loads of a tile are under way together.
ir::Program lower_copies(ir::Program program, std::int64_t threads, bool starts_copies);

/// The threads of a block that the within-block loops ask for.
std::int64_t threads_of(const ir::Program& program);
/// A store to memory that no warp, lane or thread loop holds would be done by every thread; one of them does
/// it.
ir::Program let_one_thread_write(ir::Program program, std::int64_t threads);
/// Barriers between what threads store to an array in shared memory and what others read of it. Copies have
/// their own.
ir::Program order_exchanges(ir::Program program);
/// Bound loops become Lets of block and thread indices, with a condition where an axis is longer than the
/// loop. Fills grid and threads of the launch.
ir::Program map_threads(ir::Program program, std::int64_t threads, Launch& launch);

/// On the CPU, bound loops run one after the other.
ir::Program serialize_bound_loops(ir::Program program);

/// Loops of constant extent that index a register buffer are unrolled: registers have no addresses.
ir::Program unroll_register_loops(ir::Program program);

/// Conditions that only the last iteration of an outer loop can fail are asked once, outside: two bodies, one
/// without the condition. Where the number of iterations is known, the other one is of the last iteration.
ir::Program split_tails(ir::Program program);

/// Conditions of a vectorized loop to which all elements have one answer are asked once, outside.
ir::Program ask_whole_vectors(ir::Program program);

/// A vectorized loop whose first elements alone pass its condition is shortened to those, rounded up to what
/// vector registers hold.
ir::Program trim_vectors(ir::Program program);

/// Which branches go: of a CPU those whose condition each lane of a vector has read for itself, such as a
/// mark of padding.
enum class BranchesOf : std::uint8_t { all, lanes };
/// if (c) sum += a * b becomes a sum without the branch, where all that a and b read can be read anyway, with
/// indices clamped: of zeros where c does not hold, or of anything where nobody asks for that sum, which then
/// also begins without the branch.
ir::Program sum_without_branches(ir::Program program, BranchesOf which);

/// sum += a * b becomes sum = fma(a, b, sum).
ir::Program fuse_multiply_add(ir::Program program);

/// Where launches overlap: the next one may begin at once, and each thread waits for the one in front before
/// it touches memory which that may have.
ir::Program wait_for_launch(ir::Program program);

/// A barrier that only part of a block would reach is an InternalError.
void check_barriers(const ir::Program& program);

}  // namespace weft::passes
