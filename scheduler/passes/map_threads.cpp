// threads_of, let_one_thread_write, map_threads and serialize_bound_loops.
#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/passes.h>

#include <algorithm>

namespace weft::passes {
namespace {

using ir::Expr;
using ir::LoopKind;
using ir::Stmt;

/// The longest loop of each axis, as a number.
std::int64_t longest(const ir::Program& program, LoopKind axis) {
  std::int64_t extent = 0;
  ir::visit(program.body, [&](const Stmt& s) {
    const auto* loop = s.as<ir::For>();
    if (loop == nullptr || loop->kind != axis) return;
    const std::int64_t* value = ir::integer_value(loop->extent);
    internal_check(value != nullptr,
                   "loop " + loop->name + " is bound to a thread axis without a constant extent");
    extent = std::max(extent, *value);
  });
  return extent;
}

/// The extent of the block loops of one axis; they must agree, because they share one grid.
Expr grid_extent(const ir::Program& program, LoopKind axis) {
  Expr extent;
  ir::visit(program.body, [&](const Stmt& s) {
    const auto* loop = s.as<ir::For>();
    if (loop == nullptr || loop->kind != axis) return;
    if (extent.defined() && !ir::same(extent, loop->extent)) {
      throw UserError({fmt::format("two loops of different extents are bound to {}", ir::name_of(axis)),
                       {},
                       fmt::format("{} and {}", ir::print(extent), ir::print(loop->extent)),
                       "one extent for each axis"});
    }
    extent = loop->extent;
  });
  return extent.defined() ? extent : ir::integer(1);
}

/// The index of a bound loop, and the number of iterations that the launch offers it (0: exactly its own).
struct Place {
  Expr index;
  std::int64_t offered = 0;
};

Place place_of(LoopKind axis, std::int64_t threads) {
  const Expr thread = ir::call("thread", DType::i64, {});
  switch (axis) {
    case LoopKind::warp:
      return {thread / ir::integer(32), (threads + 31) / 32};
    case LoopKind::lane:
      return {threads > 32 ? thread % ir::integer(32) : thread, 32};
    case LoopKind::thread:
      return {thread, threads};
    default:
      return {ir::call(std::string(ir::name_of(axis)), DType::i64, {}), 0};
  }
}

Stmt mapped(const ir::For& loop, std::int64_t threads) {
  const auto [index, offered] = place_of(loop.kind, threads);
  Stmt body = loop.body;
  if (offered > 0 && offered > *ir::integer_value(loop.extent)) {
    body = ir::if_then(ir::variable(loop.name) < loop.begin + loop.extent, body);
  }
  return ir::let(loop.name, index + loop.begin, body);
}

/// Adds conditions to stores that stand inside no loop over some part of the block's threads.
class SingleWriter {
 public:
  explicit SingleWriter(std::int64_t threads) : threads_(threads) {}

  Stmt operator()(const Stmt& stmt, bool by_warp, bool by_lane) const {
    if (!stmt.defined()) return stmt;
    const auto inside = [&](const Stmt& child) { return (*this)(child, by_warp, by_lane); };
    if (const auto* s = stmt.as<ir::For>()) {
      ir::For loop = *s;
      const bool thread = s->kind == LoopKind::thread;
      loop.body = (*this)(s->body, by_warp || thread || s->kind == LoopKind::warp,
                          by_lane || thread || s->kind == LoopKind::lane);
      return ir::for_loop(std::move(loop));
    }
    if (const auto* s = stmt.as<ir::Store>()) {
      if (s->buffer->scope == ir::Scope::registers) return stmt;
      Expr writes = ir::boolean(true);
      if (!by_warp && threads_ > 32)
        writes = writes && place_of(LoopKind::warp, threads_).index < ir::integer(1);
      if (!by_lane && threads_ > 1)
        writes = writes && place_of(LoopKind::lane, threads_).index < ir::integer(1);
      return ir::if_then(writes, stmt);
    }
    if (const auto* s = stmt.as<ir::Block>()) {
      std::vector<Stmt> statements;
      for (const Stmt& child : s->statements) statements.push_back(inside(child));
      return ir::block(std::move(statements));
    }
    if (const auto* s = stmt.as<ir::If>())
      return ir::if_then(s->condition, inside(s->then), inside(s->otherwise));
    if (const auto* s = stmt.as<ir::Allocate>()) return ir::allocate(s->buffer, inside(s->body));
    if (const auto* s = stmt.as<ir::Let>()) return ir::let(s->name, s->value, inside(s->body));
    return stmt;
  }

 private:
  std::int64_t threads_;
};

}  // namespace

std::int64_t threads_of(const ir::Program& program) {
  const std::int64_t warps = longest(program, LoopKind::warp);
  const std::int64_t lanes = longest(program, LoopKind::lane);
  const std::int64_t by_warps = warps > 0 ? warps * 32 : lanes > 0 ? 32 : 0;
  return std::max<std::int64_t>({by_warps, longest(program, LoopKind::thread), 1});
}

ir::Program let_one_thread_write(ir::Program program, std::int64_t threads) {
  program.body = SingleWriter{threads}(program.body, false, false);
  return program;
}

ir::Program map_threads(ir::Program program, std::int64_t threads, Launch& launch) {
  launch.grid = {grid_extent(program, LoopKind::block_x), grid_extent(program, LoopKind::block_y),
                 grid_extent(program, LoopKind::block_z)};
  launch.threads = threads;
  ir::Rewriter rewriter;
  rewriter.on_stmt = [&](const Stmt& s) {
    const auto* loop = s.as<ir::For>();
    return loop != nullptr && ir::is_bound(loop->kind) ? mapped(*loop, threads) : s;
  };
  program.body = rewriter(program.body);
  return program;
}

ir::Program serialize_bound_loops(ir::Program program) {
  ir::Rewriter rewriter;
  rewriter.on_stmt = [](const Stmt& s) {
    const auto* loop = s.as<ir::For>();
    if (loop == nullptr || !ir::is_bound(loop->kind)) return s;
    ir::For serial = *loop;
    serial.kind = LoopKind::serial;
    return ir::for_loop(std::move(serial));
  };
  program.body = rewriter(program.body);
  return program;
}

}  // namespace weft::passes
