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
  return ir::if_then(number < loop.begin + loop.extent, copies);
}

/// Those of the ring's copies that wait for the launch in front, or the others.
Ring part_of(const Ring& ring, const ir::Program& program, bool awaited) {
  Ring part = ring;
  part.copies.clear();
  part.conditions_of.clear();
  for (std::size_t i = 0; i < ring.copies.size(); ++i) {
    if (ir::is_awaited(program, *ring.copies[i].source) != awaited) continue;
    part.copies.push_back(ring.copies[i]);
    part.conditions_of.push_back(ring.conditions_of[i]);
  }
  return part;
}

/// The copies of the iterations in front of the first. Where launches overlap, those of the weights before
/// any other, so that they are under way while the kernel waits.
Stmt first_copies(const ir::Program& program, const Ring& ring, const ir::For& loop, std::int64_t ahead) {
  const auto each = [&](const char* name, const Ring& part, const Stmt& behind) {
    const Expr first = ir::variable(loop.name + name);
    return ir::for_range(first, ahead, LoopKind::unrolled, loop.step,
                         ir::block({copies_of(part, loop, loop.begin + first), behind}));
  };
  if (!program.overlap) return each(".ahead", ring, ir::commit_copies());
  const Ring own = part_of(ring, program, false);
  return ir::block({own.copies.empty() ? Stmt() : each(".early", own, {}),
                    each(".ahead", part_of(ring, program, true), ir::commit_copies())});
}

/// Each iteration waits for its copies and starts those of a later one.
Stmt in_turn(const ir::Program& program, const Ring& ring, ir::For loop) {
  const std::int64_t ahead = ring.buffers - 1;
  // The barrier shows what all threads have copied, and that none of them still reads the buffer which is
  // filled next: that of the iteration before.
  loop.body =
      ir::block({ir::wait_for_copies(static_cast<int>(ahead) - 1), ir::barrier(),
                 copies_of(ring, loop, ir::variable(loop.name) + ahead), ir::commit_copies(), loop.body});
  const Stmt begin = first_copies(program, ring, loop, ahead);
  return ir::block({begin, ir::for_loop(std::move(loop))});
}

/// Blocks and the like do not follow one another: each iteration waits for its own copies.
Stmt at_once(const Ring& ring, ir::For loop) {
  loop.body = ir::block(
      {copies_of(ring, loop), ir::commit_copies(), ir::wait_for_copies(0), ir::barrier(), loop.body});
  return ir::for_loop(std::move(loop));
}

/// `repeats`: a loop that a block goes through several times stands around.
Stmt run_ahead(const ir::Program& program, const Stmt& stmt, bool repeats) {
  if (!stmt.defined()) return stmt;
  const auto* copy = stmt.as<ir::Copy>();
  internal_check(copy == nullptr || !copy->asynchronous || copy->of_one_thread,
                 "an asynchronous copy does not stand at the begin of a loop's body");
  const auto* loop = stmt.as<ir::For>();
  if (loop == nullptr)
    return with_children(stmt, [&](const Stmt& child) { return run_ahead(program, child, repeats); });
  Ring ring;
  ir::For changed = *loop;
  const Stmt rest = ring_of(loop->body, ring);
  changed.body = run_ahead(program, rest, repeats || !ir::is_bound(loop->kind));
  if (ring.copies.empty()) return ir::for_loop(std::move(changed));
  changed.body = with_slot(changed.body, ring, slot_of(ring, *loop));
  const bool follow = loop->kind == LoopKind::serial || loop->kind == LoopKind::unrolled;
  Stmt result = follow ? in_turn(program, ring, std::move(changed)) : at_once(ring, std::move(changed));
  if (repeats) result = ir::block({ir::barrier(), result});
  for (auto tile = ring.tiles.rbegin(); tile != ring.tiles.rend(); ++tile)
    result = ir::allocate(*tile, result);
  return result;
}

}  // namespace

ir::Program run_copies_ahead(ir::Program program) {
  if (has_ring(program.body)) program.body = run_ahead(program, program.body, false);
  return program;
}

}  // namespace weft::passes
