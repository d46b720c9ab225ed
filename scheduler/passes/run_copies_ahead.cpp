#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/children.h>
#include <weft/scheduler/passes/passes.h>

namespace weft::passes {
namespace {

using ir::Expr;
using ir::Stmt;

/// The asynchronous copies at the begin of a loop's body.
struct Ring {
  std::vector<ir::BufferRef> tiles;
  std::vector<Stmt> copies;
  std::int64_t buffers = 0;  ///< of each tile
};

void add(const ir::Copy& copy, const Stmt& stmt, Ring& ring) {
  const std::int64_t buffers = *ir::integer_value(copy.destination->shape.front());
  internal_check(ring.buffers == 0 || ring.buffers == buffers,
                 "copies at one loop have different numbers of buffers");
  ring.buffers = buffers;
  ring.tiles.push_back(copy.destination);
  ring.copies.push_back(stmt);
}

/// What is left of a loop's body: tiles are allocated one inside the other, each behind the copies into those
/// around it.
Stmt without_ring(const Stmt& stmt, Ring& ring) {
  if (const auto* block = stmt.as<ir::Block>()) {
    std::vector<Stmt> statements = block->statements;
    statements.back() = without_ring(statements.back(), ring);
    return ir::block(std::move(statements));
  }
  const auto* allocation = stmt.as<ir::Allocate>();
  if (allocation == nullptr) return stmt;
  const auto* block = allocation->body.as<ir::Block>();
  const auto* copy = block == nullptr ? nullptr : block->statements.front().as<ir::Copy>();
  if (copy == nullptr || !copy->asynchronous || copy->destination != allocation->buffer)
    return ir::allocate(allocation->buffer, without_ring(allocation->body, ring));
  add(*copy, block->statements.front(), ring);
  return without_ring(ir::block({block->statements.begin() + 1, block->statements.end()}), ring);
}

/// The copies of the iteration, if there is one of that number.
Stmt copies_of(const Ring& ring, const ir::For& loop, const Expr& iteration) {
  const Stmt copies = ir::substitute(ir::block(ring.copies), {{loop.name, iteration}});
  return ir::block({ir::if_then(iteration < loop.begin + loop.extent, copies), ir::commit_copies()});
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
  const std::int64_t ahead = ring.buffers - 1;
  // The barrier shows what all threads have copied, and that none of them still reads the buffer which is
  // filled next: that of the iteration before.
  changed.body = ir::block({ir::wait_for_copies(static_cast<int>(ahead) - 1), ir::barrier(),
                            copies_of(ring, *loop, ir::variable(loop->name) + ahead), changed.body});
  const std::string first = loop->name + ".ahead";
  const Stmt begin = ir::for_loop({first, ir::integer(0), ir::integer(ahead), ir::LoopKind::unrolled,
                                   loop->step, copies_of(ring, *loop, loop->begin + ir::variable(first))});
  Stmt result = ir::block({repeats ? ir::barrier() : Stmt(), begin, ir::for_loop(std::move(changed))});
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
