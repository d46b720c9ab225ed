// Rewriting from the outside in, where what becomes of a statement depends on those around it.
#pragma once

#include <weft/scheduler/ir/node.h>

#include <optional>
#include <utility>
#include <vector>

namespace weft::passes {

/// The statement with `change(child)` in place of each statement directly inside it. Statements without any,
/// undefined ones, and those of which nothing changes, are returned as they are.
template <class Change>
ir::Stmt with_children(const ir::Stmt& stmt, const Change& change) {
  if (!stmt.defined()) return stmt;
  const auto same = [](const ir::Stmt& a, const ir::Stmt& b) { return a.identity() == b.identity(); };
  if (const auto* s = stmt.as<ir::For>()) {
    ir::Stmt body = change(s->body);
    if (same(body, s->body)) return stmt;
    ir::For loop = *s;
    loop.body = std::move(body);
    return ir::for_loop(std::move(loop));
  }
  if (const auto* s = stmt.as<ir::Block>()) {
    std::optional<std::vector<ir::Stmt>> statements;
    for (std::size_t i = 0; i < s->statements.size(); ++i) {
      ir::Stmt child = change(s->statements[i]);
      if (!statements && !same(child, s->statements[i])) statements = s->statements;
      if (statements) (*statements)[i] = std::move(child);
    }
    return statements ? ir::block(*std::move(statements)) : stmt;
  }
  if (const auto* s = stmt.as<ir::If>()) {
    const ir::Stmt then = change(s->then);
    const ir::Stmt otherwise = s->otherwise.defined() ? change(s->otherwise) : ir::Stmt();
    const bool kept = same(then, s->then) && same(otherwise, s->otherwise);
    return kept ? stmt : ir::if_then(s->condition, then, otherwise);
  }
  if (const auto* s = stmt.as<ir::Allocate>()) {
    const ir::Stmt body = change(s->body);
    return same(body, s->body) ? stmt : ir::allocate(s->buffer, body);
  }
  if (const auto* s = stmt.as<ir::Let>()) {
    const ir::Stmt body = change(s->body);
    return same(body, s->body) ? stmt : ir::let(s->name, s->value, body);
  }
  return stmt;
}

}  // namespace weft::passes
