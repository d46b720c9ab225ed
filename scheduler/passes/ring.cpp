#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/ring.h>

#include <algorithm>

namespace weft::passes {
namespace {

void add(const ir::Copy& copy, Ring& ring) {
  const std::int64_t buffers = *ir::integer_value(copy.destination->shape.front());
  internal_check(ring.buffers == 0 || ring.buffers == buffers,
                 "copies at one loop have different numbers of buffers");
  ring.buffers = buffers;
  ring.tiles.push_back(copy.destination);
  ring.copies.push_back(copy);
  ring.conditions_of.push_back(ring.conditions);
}

/// What is left of a loop's body: tiles are allocated one inside the other, each behind the copies into those
/// around it; pieces of a loop have conditions around them.
Stmt without_ring(const Stmt& stmt, Ring& ring) {
  if (const auto* block = stmt.as<ir::Sequence>()) {
    std::vector<Stmt> statements = block->statements;
    statements.back() = without_ring(statements.back(), ring);
    return ir::block(std::move(statements));
  }
  if (const auto* condition = stmt.as<ir::If>(); condition != nullptr && !condition->otherwise.defined()) {
    ring.conditions.push_back(condition->condition);
    const Stmt then = without_ring(condition->then, ring);
    ring.conditions.pop_back();
    return ir::if_then(condition->condition, then);
  }
  const auto* allocation = stmt.as<ir::Allocate>();
  if (allocation == nullptr) return stmt;
  const auto* block = allocation->body.as<ir::Sequence>();
  const auto* copy = block == nullptr ? nullptr : block->statements.front().as<ir::Copy>();
  if (copy == nullptr || !copy->asynchronous || copy->destination != allocation->buffer)
    return ir::allocate(allocation->buffer, without_ring(allocation->body, ring));
  add(*copy, ring);
  return without_ring(ir::block({block->statements.begin() + 1, block->statements.end()}), ring);
}

}  // namespace

bool has_ring(const Stmt& stmt) {
  return ir::any<ir::Copy>(stmt, [](const ir::Copy& copy) { return copy.asynchronous; });
}

Stmt ring_of(const Stmt& body, Ring& ring) {
  return without_ring(body, ring);
}

std::vector<const ir::For*> ring_loops(const Stmt& stmt) {
  return ir::find_all<ir::For>(stmt, [](const ir::For& loop) {
    Ring ring;
    ring_of(loop.body, ring);
    return !ring.copies.empty();
  });
}

Stmt with_slot(const Stmt& stmt, const Ring& ring, const Expr& slot) {
  return ir::rewrite<ir::Load>(stmt, [&](const ir::Load& load, const Expr& e) {
    if (std::ranges::find(ring.tiles, load.buffer) == ring.tiles.end()) return e;
    std::vector<Expr> indices = load.indices;
    indices.front() = slot;
    return ir::load(load.buffer, std::move(indices));
  });
}

}  // namespace weft::passes
