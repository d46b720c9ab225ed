#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/children.h>
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
  const auto* loop = stmt.as<ir::For>();
  const bool inside = repeats || (loop != nullptr && !ir::is_bound(loop->kind));
  const auto* s = stmt.as<ir::Allocate>();
  const auto* block = s == nullptr ? nullptr : s->body.as<ir::Block>();
  if (block == nullptr || s->buffer->scope != ir::Scope::shared || !stores_to(s->body, s->buffer))
    return with_children(stmt, [&](const Stmt& child) { return ordered(child, inside); });
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
