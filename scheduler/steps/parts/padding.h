// Places of the weights that are padding, marked by the column -1, whose value is +0.
#pragma once

#include <weft/scheduler/steps/parts/staged_region.h>

namespace weft::steps {

/// Whether the index is a stored coordinate of the loops inside, -1 where a place is padding, or that and
/// something constant inside.
bool may_be_padding(const ir::Expr& index, const ir::InnerLoops& loops);

/// The body without the conditions that keep padding out of a sum: where the column is -1, the tile is zero
/// and so is the value.
ir::Stmt without_padding_conditions(const ir::Stmt& body, const ir::BufferRef& tile);

}  // namespace weft::steps
