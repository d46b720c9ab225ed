// mbarrier objects, for the instructions that arrive at them.
#pragma once

#include <weft/backends/simulator/machine/machine.h>

namespace weft::simulator {

/// The mbarrier at a shared address, of this block or another of the cluster; null, and reported, without
/// one.
MemoryBarrier* find_barrier(Warp& warp, const Operation& operation, std::uint64_t address);

/// `count` arrivals; what was expected too often is reported.
void arrive(Warp& warp, const Operation& operation, MemoryBarrier& barrier, std::uint32_t count);

/// A copy brought `bytes` bytes, and who waits may rely on what was `done`. `may_complete`: whether the phase
/// may end with it, or an arrival follows.
void complete_bytes(Warp& warp, MemoryBarrier& barrier, std::int64_t bytes, Epoch done,
                    bool may_complete = true);

}  // namespace weft::simulator
