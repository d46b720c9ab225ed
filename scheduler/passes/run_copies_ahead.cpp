#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/passes.h>
#include <weft/scheduler/passes/ring.h>

#include <algorithm>

namespace weft::passes {
namespace {

/// Iterations take the buffers in turn. A loop that was split counts otherwise than the pieces of it do.
Expr slot_of(const Ring& ring, const ir::For& loop) {
  return (ir::variable(loop.name) - loop.begin) % ring.buffers;
}

/// The copies of an iteration.
Stmt copies_of(const Ring& ring, const ir::For& loop) {
  std::vector<Stmt> copies;
  for (std::size_t i = 0; i < ring.copies.size(); ++i) {
    ir::Copy own = ring.copies[i];
    own.destination_begin.front() = slot_of(ring, loop);
    copies.push_back(ir::if_all(ring.conditions_of[i], ir::copy(std::move(own))));
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
  const Expr first = ir::variable(loop.name + ".ahead");
  const Stmt begin =
      ir::for_range(first, ahead, LoopKind::unrolled, loop.step, copies_of(ring, loop, loop.begin + first));
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
  internal_check(copy == nullptr || !copy->asynchronous || copy->of_one_thread,
                 "an asynchronous copy does not stand at the begin of a loop's body");
  const auto* loop = stmt.as<ir::For>();
  if (loop == nullptr)
    return with_children(stmt, [&](const Stmt& child) { return run_ahead(child, repeats); });
  Ring ring;
  ir::For changed = *loop;
  const Stmt rest = ring_of(loop->body, ring);
  changed.body = run_ahead(rest, repeats || !ir::is_bound(loop->kind));
  if (ring.copies.empty()) return ir::for_loop(std::move(changed));
  changed.body = with_slot(changed.body, ring, slot_of(ring, *loop));
  const bool follow = loop->kind == LoopKind::serial || loop->kind == LoopKind::unrolled;
  Stmt result = follow ? in_turn(ring, std::move(changed)) : at_once(ring, std::move(changed));
  if (repeats) result = ir::block({ir::barrier(), result});
  for (auto tile = ring.tiles.rbegin(); tile != ring.tiles.rend(); ++tile)
    result = ir::allocate(*tile, result);
  return result;
}

}  // namespace

ir::Program run_copies_ahead(ir::Program program) {
  if (has_ring(program.body)) program.body = run_ahead(program.body, false);
  return program;
}

}  // namespace weft::passes
