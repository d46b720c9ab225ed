// Products of weights that lie in streams for the lanes of a warp.
#pragma once

#include <weft/scheduler/ir/node.h>

#include <cstdint>

namespace weft::passes {

/// Operations that take their weights from streams become instructions: each of so many warps of a block has
/// a ring of its own in shared memory, to which it copies its streams ahead of what its lanes take. Those
/// that a warp goes through in turns, in a loop right around the operation, share the ring.
Stmt lower_stream_products(const Stmt& body, std::int64_t warps);

}  // namespace weft::passes
