#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/children.h>
#include <weft/scheduler/passes/passes.h>

#include <algorithm>

namespace weft::passes {
namespace {

using ir::Expr;
using ir::Stmt;

/// The asynchronous copies at the begin of a loop's body.
struct Ring {
  std::vector<ir::BufferRef> tiles;
  std::vector<ir::Copy> copies;
  std::vector<Expr> conditions;                  ///< around the rest, while it is looked for
  std::vector<std::vector<Expr>> conditions_of;  ///< of each copy
  std::int64_t buffers = 0;                      ///< of each tile
};

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
  if (const auto* block = stmt.as<ir::Block>()) {
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
  const auto* block = allocation->body.as<ir::Block>();
  const auto* copy = block == nullptr ? nullptr : block->statements.front().as<ir::Copy>();
  if (copy == nullptr || !copy->asynchronous || copy->destination != allocation->buffer)
    return ir::allocate(allocation->buffer, without_ring(allocation->body, ring));
  add(*copy, ring);
  return without_ring(ir::block({block->statements.begin() + 1, block->statements.end()}), ring);
}

/// Iterations take the buffers in turn. A loop that was split counts otherwise than the pieces of it do.
Expr slot_of(const Ring& ring, const ir::For& loop) {
  return (ir::variable(loop.name) - loop.begin) % ir::integer(ring.buffers);
}

Stmt with_slot(const Stmt& stmt, const Ring& ring, const Expr& slot) {
  ir::Rewriter rewriter;
  rewriter.on_expr = [&](const Expr& e) {
    const auto* load = e.as<ir::Load>();
    if (load == nullptr || std::ranges::find(ring.tiles, load->buffer) == ring.tiles.end()) return e;
    std::vector<Expr> indices = load->indices;
    indices.front() = slot;
    return ir::load(load->buffer, std::move(indices));
  };
  return rewriter(stmt);
}

/// The copies of an iteration.
Stmt copies_of(const Ring& ring, const ir::For& loop) {
  std::vector<Stmt> copies;
  for (std::size_t i = 0; i < ring.copies.size(); ++i) {
    ir::Copy own = ring.copies[i];
    own.destination_begin.front() = slot_of(ring, loop);
    Stmt statement = ir::copy(std::move(own));
    for (auto condition = ring.conditions_of[i].rbegin(); condition != ring.conditions_of[i].rend();
         ++condition)
      statement = ir::if_then(*condition, statement);
    copies.push_back(statement);
  }
  return ir::block(std::move(copies));
}

/// The same for the iteration of that number, if there is one.
Stmt copies_of(const Ring& ring, const ir::For& loop, const Expr& number) {
  const Stmt copies = ir::substitute(copies_of(ring, loop), {{loop.name, number}});
  return ir::block({ir::if_then(number < loop.begin + loop.extent, copies), ir::commit_copies()});
}

/// Each iteration waits for its copies and starts those of a later one.
Stmt in_turn(const Ring& ring, ir::For loop) {
  const std::int64_t ahead = ring.buffers - 1;
  // The barrier shows what all threads have copied, and that none of them still reads the buffer which is
  // filled next: that of the iteration before.
  loop.body = ir::block({ir::wait_for_copies(static_cast<int>(ahead) - 1), ir::barrier(),
                         copies_of(ring, loop, ir::variable(loop.name) + ahead), loop.body});
  const std::string first = loop.name + ".ahead";
  const Stmt begin = ir::for_loop({first, ir::integer(0), ir::integer(ahead), ir::LoopKind::unrolled,
                                   loop.step, copies_of(ring, loop, loop.begin + ir::variable(first))});
  return ir::block({begin, ir::for_loop(std::move(loop))});
}

/// Blocks and the like do not follow one another: each iteration waits for its own copies.
Stmt at_once(const Ring& ring, ir::For loop) {
  loop.body = ir::block(
      {copies_of(ring, loop), ir::commit_copies(), ir::wait_for_copies(0), ir::barrier(), loop.body});
  return ir::for_loop(std::move(loop));
}

/// `repeats`: a loop that a block goes through several times stands around.
Stmt run_ahead(const Stmt& stmt, bool repeats) {
  if (!stmt.defined()) return stmt;
  const auto* copy = stmt.as<ir::Copy>();
  internal_check(copy == nullptr || !copy->asynchronous,
                 "an asynchronous copy does not stand at the begin of a loop's body");
  const auto* loop = stmt.as<ir::For>();
  if (loop == nullptr)
    return with_children(stmt, [&](const Stmt& child) { return run_ahead(child, repeats); });
  Ring ring;
  ir::For changed = *loop;
  const Stmt rest = without_ring(loop->body, ring);
  changed.body = run_ahead(rest, repeats || !ir::is_bound(loop->kind));
  if (ring.copies.empty()) return ir::for_loop(std::move(changed));
  changed.body = with_slot(changed.body, ring, slot_of(ring, *loop));
  const bool follow = loop->kind == ir::LoopKind::serial || loop->kind == ir::LoopKind::unrolled;
  Stmt result = follow ? in_turn(ring, std::move(changed)) : at_once(ring, std::move(changed));
  if (repeats) result = ir::block({ir::barrier(), result});
  for (auto tile = ring.tiles.rbegin(); tile != ring.tiles.rend(); ++tile)
    result = ir::allocate(*tile, result);
  return result;
}

}  // namespace

ir::Program run_copies_ahead(ir::Program program) {
  bool has_ring = false;
  ir::visit(program.body, [&](const Stmt& s) {
    const auto* copy = s.as<ir::Copy>();
    has_ring = has_ring || (copy != nullptr && copy->asynchronous);
  });
  if (has_ring) program.body = run_ahead(program.body, false);
  return program;
}

}  // namespace weft::passes
