// Which accesses of a vectorized loop move neighbouring elements together. For files of this folder.
#pragma once

#include <weft/scheduler/ir/node.h>
#include <weft/scheduler/ir/visit.h>

#include <vector>

namespace weft::cuda {

/// One run of neighbouring elements: `buffer` at `offset`, where the loop's variable counts the elements.
struct VectorAccess {
  ir::BufferRef buffer;
  std::vector<ir::Expr> indices;  ///< as they stand in the loop
  ir::Expr offset;
  bool is_read = false;
  bool is_written = false;
};

/// The accesses of the loop's body to global and shared memory that are next to one another and begin at an
/// aligned place in every iteration of the loops around. `known` are values of variables, without loads.
/// None where the body is more than stores, where the elements do not fill 4, 8 or a multiple of 16 bytes, or
/// where iterations meet in one buffer.
std::vector<VectorAccess> vector_accesses(const ir::For& loop, const ir::Substitution& known);

}  // namespace weft::cuda
