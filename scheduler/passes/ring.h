// The asynchronous copies of a loop, which go to several buffers in turn.
#pragma once

#include <weft/scheduler/ir/node.h>

#include <cstdint>
#include <vector>

namespace weft::passes {

/// The asynchronous copies at the begin of a loop's body.
struct Ring {
  std::vector<ir::BufferRef> tiles;
  std::vector<ir::Copy> copies;
  std::vector<ir::Expr> conditions;                  ///< around the rest, while it is looked for
  std::vector<std::vector<ir::Expr>> conditions_of;  ///< conditions around each copy
  std::int64_t buffers = 0;                          ///< buffers of each tile
};

/// Whether copies run ahead somewhere inside. Undefined statements have none.
bool has_ring(const ir::Stmt& stmt);

/// What is left of a loop's body without its copies, which are added to `ring`.
ir::Stmt ring_of(const ir::Stmt& body, Ring& ring);

/// The loops that have such copies.
std::vector<const ir::For*> ring_loops(const ir::Stmt& stmt);

/// The tiles are read in the buffer of that number.
ir::Stmt with_slot(const ir::Stmt& stmt, const Ring& ring, const ir::Expr& slot);

}  // namespace weft::passes
