// Products with the entries of a table, entry by entry.
#pragma once

#include <weft/scheduler/ir/node.h>

namespace weft::ir {

/// Each product (SparseProduct) becomes what it means: for each column a name for what is read, and an
/// addition for each entry.
Stmt written_out(const Stmt& stmt);

}  // namespace weft::ir
