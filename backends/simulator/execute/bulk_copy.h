// cp.async.bulk and its relatives, each a line of bytes or a box of a tensor map.
#pragma once

#include <weft/backends/simulator/machine/machine.h>

#include <functional>

namespace weft::simulator {

/// cp.async.bulk{.tensor}, cp.reduce.async.bulk and prefetches.
Handler choose_bulk_copy(const ptx::Instruction& instruction, Operation& operation);
/// Of cp.async.bulk.tensor and cp.reduce.async.bulk.tensor; null for what the simulator does not know.
Handler choose_tensor_copy(const ptx::Instruction& instruction, Operation& operation);
/// st.async and red.async to shared memory of the cluster.
Handler choose_asynchronous_store(const ptx::Instruction& instruction, Operation& operation);

/// A shared address in the window of a rank of the cluster.
inline std::uint64_t in_block(std::uint64_t address, std::uint64_t rank) {
  return window::cluster + rank * window::shared_bytes + address % window::shared_bytes;
}
/// Where a shared address is in the window of its block's rank, so that another warp's view means the same.
inline std::uint64_t absolute(const Warp& warp, std::uint64_t address) {
  return address < window::cluster ? in_block(address, warp.block().rank) : address;
}

/// Calls start(place) for the blocks that a copy goes to: those of the lane's mask in operand `masks`, where
/// place(address) is in the block's own window, or without the operand (0) the block that the address names.
template <class F>
void for_each_target(const Warp& warp, const Operation& operation, std::size_t masks, std::size_t lane,
                     F start) {
  if (masks == 0) return start([&](std::uint64_t address) { return absolute(warp, address); });
  for (const std::size_t rank : lanes_of(warp.source<std::uint32_t>(operation, masks)[lane] & 0xFFFF))
    start([rank](std::uint64_t address) { return in_block(address, rank); });
}

/// Starts a copy that ends at the mbarrier `barrier` with `bytes` bytes; `move` moves the data.
void start_bulk(Warp& warp, const Operation& operation, std::function<void(Warp&)> move,
                std::uint64_t barrier, std::uint32_t bytes);

}  // namespace weft::simulator
