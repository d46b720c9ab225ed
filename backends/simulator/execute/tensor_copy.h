// cp.async.bulk.tensor: boxes of a tensor map.
#pragma once

#include <weft/backends/simulator/machine/operation.h>

#include <cstdint>
#include <functional>

namespace weft::simulator {

class Warp;

/// Of cp.async.bulk.tensor and cp.reduce.async.bulk.tensor; null for what the simulator does not know.
Handler choose_tensor_copy(const ptx::Instruction& instruction, Operation& operation);

/// Starts a copy that ends at the mbarrier `barrier` with `bytes` bytes; `move` moves the data. In
/// bulk_copy.cpp.
void start_bulk(Warp& warp, const Operation& operation, std::function<void(Warp&)> move,
                std::uint64_t barrier, std::uint32_t bytes);

}  // namespace weft::simulator
