// Products of weights that lie in streams for the lanes of a warp.
#pragma once

#include <weft/scheduler/ir/node.h>

#include <cstdint>

namespace weft::passes {

/// Who copies streams.
struct StreamCopies {
  std::int64_t warps = 1;  ///< a block has, each of which copies its own
  bool in_bulk = false;    ///< one copy for a chunk, which sm_90 and newer have; else 16 bytes a lane
};

/// Operations that take their weights from streams become instructions: each warp has a ring of its own in
/// shared memory, to which it copies its streams ahead of what its lanes take. Those that a warp goes through
/// in turns, in a loop right around the operation, share the ring.
Stmt lower_stream_products(const Stmt& body, const StreamCopies& copies);

}  // namespace weft::passes
