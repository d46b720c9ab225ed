#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/passes.h>

#include <algorithm>
#include <string>
#include <vector>

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

/// Whether each warp has a part of the array of its own: all that is stored and read there is chosen by the
/// loops over warps, all of which stand around.
bool stays_in_warp(const Stmt& body, const ir::BufferRef& buffer, const std::vector<std::string>& warps) {
  bool stays = !warps.empty();
  const auto look = [&](const std::vector<ir::Expr>& indices) {
    for (const std::string& warp : warps) {
      stays = stays && std::any_of(indices.begin(), indices.end(), [&](const ir::Expr& index) {
                const auto* variable = index.as<ir::Variable>();
                return variable != nullptr && variable->name == warp;
              });
    }
  };
  ir::visit(
      body,
      [&](const Stmt& s) {
        const auto* loop = s.as<ir::For>();
        stays = stays &&
                (loop == nullptr || (loop->kind != ir::LoopKind::warp && loop->kind != ir::LoopKind::thread));
        const auto* store = s.as<ir::Store>();
        if (store != nullptr && store->buffer == buffer) look(store->indices);
      },
      [&](const ir::Expr& e) {
        const auto* load = e.as<ir::Load>();
        if (load != nullptr && load->buffer == buffer) look(load->indices);
      });
  return stays;
}

/// `repeats`: a loop that a block goes through several times stands around, and no barrier behind its begin.
/// `around`: the loops over warps around.
Stmt ordered(const Stmt& stmt, bool repeats, const std::vector<std::string>& around) {
  if (!stmt.defined() || stmt.as<ir::Store>() != nullptr) return stmt;
  const auto* loop = stmt.as<ir::For>();
  std::vector<std::string> inner;
  if (loop != nullptr && loop->kind == ir::LoopKind::warp) {
    inner = around;
    inner.push_back(loop->name);
  }
  const std::vector<std::string>& warps = inner.empty() ? around : inner;
  const bool inside = repeats || (loop != nullptr && !ir::is_bound(loop->kind));
  if (stmt.as<ir::Block>() != nullptr) {
    return with_children(stmt, [&](const Stmt& child) {
      Stmt changed = ordered(child, repeats, warps);
      // All threads have done with what the last iteration allocated.
      repeats = repeats && child.as<ir::Barrier>() == nullptr;
      return changed;
    });
  }
  const auto* s = stmt.as<ir::Allocate>();
  const auto* block = s == nullptr ? nullptr : s->body.as<ir::Block>();
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
  bool shares = false;
  ir::visit(program.body, [&](const Stmt& s) {
    const auto* allocation = s.as<ir::Allocate>();
    shares = shares || (allocation != nullptr && allocation->buffer->scope == ir::Scope::shared);
  });
  if (!shares) return program;
  program.body = ordered(program.body, false, {});
  return program;
}

}  // namespace weft::passes
