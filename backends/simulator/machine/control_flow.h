// Where the lanes of a branch meet again.
#pragma once

#include <weft/backends/simulator/machine/operation.h>

namespace weft::simulator {

/// Sets `reconvergence` of every branch in `code` to the operation that follows its block's immediate
/// post-dominator, or leaves -1 where the paths only meet at the end. Cooper, Harvey and Kennedy's dominators
/// on the reversed graph of blocks.
void find_reconvergence(Code& code);

/// What an operation does to the flow of control; the decoder sets it in `variant` of control operations.
enum class Flow : std::uint8_t { next, branch, table, leave };
Flow flow_of(const Operation& operation);

void run_branch(Warp& warp, const Operation& operation);
void run_branch_table(Warp& warp, const Operation& operation);
void run_exit(Warp& warp, const Operation& operation);
/// Of hints, and of what the simulator orders anyway.
inline void do_nothing(Warp&, const Operation&) {}
/// mov from a special register; which one is in `variant`.
void read_special(Warp& warp, const Operation& operation);
/// The number of a special register for read_special, or -1: "%tid.x".
int special_register(std::string_view name);
/// Whether it is 64 bits wide or a predicate mask of 32.
std::size_t special_bytes(int number);

}  // namespace weft::simulator
