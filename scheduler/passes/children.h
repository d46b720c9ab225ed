// Rewriting from the outside in, where what becomes of a statement depends on those around it.
#pragma once

#include <weft/scheduler/ir/node.h>

#include <utility>
#include <vector>

namespace weft::passes {

/// The statement with `change(child)` in place of each statement directly inside it. Statements without any,
/// and undefined ones, are returned as they are.
template <class Change>
ir::Stmt with_children(const ir::Stmt& stmt, const Change& change) {
  if (!stmt.defined()) return stmt;
  if (const auto* s = stmt.as<ir::For>()) {
    ir::For loop = *s;
    loop.body = change(s->body);
    return ir::for_loop(std::move(loop));
  }
  if (const auto* s = stmt.as<ir::Block>()) {
    std::vector<ir::Stmt> statements;
    for (const ir::Stmt& child : s->statements) statements.push_back(change(child));
    return ir::block(std::move(statements));
  }
  if (const auto* s = stmt.as<ir::If>())
    return ir::if_then(s->condition, change(s->then),
                       s->otherwise.defined() ? change(s->otherwise) : ir::Stmt());
  if (const auto* s = stmt.as<ir::Allocate>()) return ir::allocate(s->buffer, change(s->body));
  if (const auto* s = stmt.as<ir::Let>()) return ir::let(s->name, s->value, change(s->body));
  return stmt;
}

}  // namespace weft::passes
