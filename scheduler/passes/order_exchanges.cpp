#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/passes.h>

namespace weft::passes {
namespace {

using ir::Stmt;

bool stores_to(const Stmt& stmt, const ir::BufferRef& buffer) {
  bool found = false;
  ir::visit(stmt, [&](const Stmt& s) {
    const auto* store = s.as<ir::Store>();
    found = found || (store != nullptr && store->buffer == buffer);
  });
  return found;
}

/// `repeats`: a loop that a block goes through several times stands around.
Stmt ordered(const Stmt& stmt, bool repeats) {
  if (!stmt.defined()) return stmt;
  if (const auto* s = stmt.as<ir::For>()) {
    ir::For loop = *s;
    loop.body = ordered(s->body, repeats || !ir::is_bound(s->kind));
    return ir::for_loop(std::move(loop));
  }
  if (const auto* s = stmt.as<ir::Block>()) {
    std::vector<Stmt> statements;
    for (const Stmt& child : s->statements) statements.push_back(ordered(child, repeats));
    return ir::block(std::move(statements));
  }
  if (const auto* s = stmt.as<ir::If>())
    return ir::if_then(s->condition, ordered(s->then, repeats), ordered(s->otherwise, repeats));
  if (const auto* s = stmt.as<ir::Let>()) return ir::let(s->name, s->value, ordered(s->body, repeats));
  const auto* s = stmt.as<ir::Allocate>();
  if (s == nullptr) return stmt;
  const auto* block = s->body.as<ir::Block>();
  if (s->buffer->scope != ir::Scope::shared || block == nullptr || !stores_to(s->body, s->buffer))
    return ir::allocate(s->buffer, ordered(s->body, repeats));
  std::vector<Stmt> statements;
  // What slower threads still read of the last time must not be overwritten.
  if (repeats) statements.push_back(ir::barrier());
  bool stored = false;
  for (const Stmt& child : block->statements) {
    if (stored && ir::uses(child, s->buffer)) {
      statements.push_back(ir::barrier());
      stored = false;
    }
    stored = stored || stores_to(child, s->buffer);
    statements.push_back(ordered(child, repeats));
  }
  return ir::allocate(s->buffer, ir::block(std::move(statements)));
}

}  // namespace

ir::Program order_exchanges(ir::Program program) {
  bool shares = false;
  ir::visit(program.body, [&](const Stmt& s) {
    const auto* allocation = s.as<ir::Allocate>();
    shares = shares || (allocation != nullptr && allocation->buffer->scope == ir::Scope::shared);
  });
  if (!shares) return program;
  program.body = ordered(program.body, false);
  return program;
}

}  // namespace weft::passes
