// cp.async.bulk and its relatives, each a line of bytes or a box of a tensor map.
#pragma once

#include <weft/backends/simulator/machine/operation.h>

namespace weft::simulator {

/// cp.async.bulk{.tensor}, cp.reduce.async.bulk, their groups and prefetches.
Handler choose_bulk_copy(const ptx::Instruction& instruction, Operation& operation);
/// st.async and red.async to shared memory of the cluster.
Handler choose_asynchronous_store(const ptx::Instruction& instruction, Operation& operation);

}  // namespace weft::simulator
