// What is sure of the parts of an expression wherever it stands. For files of this folder.
#pragma once

#include <weft/scheduler/ir/node.h>

#include <functional>

namespace weft::cuda {

/// Calls `on_part` for every part of the expression, parts before wholes and the expression last, and says of
/// each whether it is certain to be computed: branches of a Select and what stands behind && and || are not.
/// `is_certain` says it of the expression itself.
void visit_with_certainty(const ir::Expr& expr, bool is_certain,
                          const std::function<void(const ir::Expr& part, bool is_certain)>& on_part);

/// Whether the value is the same wherever its variables are: it reads nothing that a kernel writes.
bool is_steady(const ir::Expr& expr);

}  // namespace weft::cuda
