#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/passes.h>

#include <algorithm>
#include <string>
#include <vector>

namespace weft::passes {
namespace {

/// Whether each warp has a part of the array of its own: all that is stored and read there is chosen by the
/// loops over warps, all of which stand around.
bool stays_in_warp(const Stmt& body, const ir::BufferRef& buffer, const std::vector<std::string>& warps) {
  bool stays = !warps.empty() && !ir::any<ir::For>(body, [](const ir::For& loop) {
    return loop.kind == LoopKind::warp || loop.kind == LoopKind::thread;
  });
  ir::each_access(body, [&](const ir::BufferRef& used, const std::vector<ir::Expr>& indices) {
    stays = stays && (used != buffer || std::ranges::all_of(warps, [&](const std::string& warp) {
                        return ir::contains(indices, ir::variable(warp));
                      }));
  });
  return stays;
}

/// `repeats`: a loop that a block goes through several times stands around, and no barrier behind its begin.
/// `around`: the loops over warps around.
Stmt ordered(const Stmt& stmt, bool repeats, const std::vector<std::string>& around) {
  if (!stmt.defined() || stmt.as<ir::Store>() != nullptr) return stmt;
  const auto* loop = stmt.as<ir::For>();
  std::vector<std::string> inner;
  if (loop != nullptr && loop->kind == LoopKind::warp) {
    inner = around;
    inner.push_back(loop->name);
  }
  const std::vector<std::string>& warps = inner.empty() ? around : inner;
  const bool inside = repeats || (loop != nullptr && !ir::is_bound(loop->kind));
  if (stmt.as<ir::Sequence>() != nullptr) {
    return with_children(stmt, [&](const Stmt& child) {
      Stmt changed = ordered(child, repeats, warps);
      // All threads have done with what the last iteration allocated.
      repeats = repeats && child.as<ir::Barrier>() == nullptr;
      return changed;
    });
  }
  const auto* s = stmt.as<ir::Allocate>();
  const auto* block = s == nullptr ? nullptr : s->body.as<ir::Sequence>();
  if (block == nullptr || s->buffer->scope != ir::Scope::shared || !stores_to(s->body, s->buffer))
    return with_children(stmt, [&](const Stmt& child) { return ordered(child, inside, warps); });
  const Stmt wait = stays_in_warp(s->body, s->buffer, warps) ? ir::execute("barrier_of_warp") : ir::barrier();
  std::vector<Stmt> statements;
  // What slower threads still read of the last time must not be overwritten.
  if (repeats) statements.push_back(wait);
  bool stored = false;
  for (const Stmt& child : block->statements) {
    if (stored && ir::uses(child, s->buffer)) {
      statements.push_back(wait);
      stored = false;
    }
    stored = stored || stores_to(child, s->buffer);
    statements.push_back(ordered(child, repeats, warps));
  }
  return ir::allocate(s->buffer, ir::block(std::move(statements)));
}

}  // namespace

ir::Program order_exchanges(ir::Program program) {
  const auto is_shared = [](const ir::Allocate& s) { return s.buffer->scope == ir::Scope::shared; };
  if (ir::any<ir::Allocate>(program.body, is_shared)) program.body = ordered(program.body, false, {});
  return program;
}

}  // namespace weft::passes
