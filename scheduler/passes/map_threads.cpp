// threads_of, let_one_thread_write, map_threads and serialize_bound_loops.
#include <fmt/format.h>
#include <weft/dsl/arithmetic.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/instructions.h>
#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/own_variables.h>
#include <weft/scheduler/passes/passes.h>

#include <algorithm>

namespace weft::passes {
namespace {

std::int64_t extent_of(const ir::For& loop) {
  const std::int64_t* value = ir::integer_value(loop.extent);
  internal_check(value != nullptr,
                 "loop " + loop.name + " is bound to a thread axis without a constant extent");
  return *value;
}

/// How many warps, lanes or threads the loops of an axis need; nested ones multiply. 0: there is none.
std::int64_t needed(const Stmt& stmt, LoopKind axis) {
  std::int64_t most = 0;
  each_child(stmt, [&](const Stmt& child) { most = std::max(most, needed(child, axis)); });
  const auto* loop = stmt.as<ir::For>();
  return loop != nullptr && loop->kind == axis ? extent_of(*loop) * std::max<std::int64_t>(most, 1) : most;
}

/// The extent of the block loops of one axis; they must agree, because they share one grid.
Expr grid_extent(const ir::Program& program, LoopKind axis) {
  Expr extent;
  ir::each<ir::For>(program.body, [&](const ir::For& loop) {
    if (loop.kind != axis) return;
    if (extent.defined() && !ir::same(extent, loop.extent))
      throw UserError(fmt::format("two loops of different extents are bound to {}", ir::name_of(axis)),
                      fmt::format("{} and {}", ir::print(extent), ir::print(loop.extent)),
                      "one extent for each axis");
    extent = loop.extent;
  });
  return extent.defined() ? extent : 1;
}

Expr thread_index() {
  return ir::call("thread", DType::i64, {});
}

/// Those of a block that share what stands here: `number` tells which of `count` of them is at work.
struct Team {
  Expr number;
  std::int64_t count = 1;
};

/// Who shares a statement: the warps of a block and the lanes of each, or all threads of a block alike.
struct Teams {
  Team warps, lanes, threads;

  static Teams of_block(std::int64_t threads) {
    const Expr thread = thread_index();
    return {{thread / 32, (threads + 31) / 32},
            {threads > 32 ? thread % 32 : thread, threads > 1 ? 32 : 1},
            {thread, threads}};
  }
  Team& of(LoopKind kind) {
    return kind == LoopKind::warp ? warps : kind == LoopKind::lane ? lanes : threads;
  }
  /// Whoever stands inside the loop: each iteration has a part of the team.
  Teams inside(const ir::For& loop) const;
};

/// What a warp, lane or thread loop makes of those who share it: each of its iterations gets `each` of them.
struct LoopShares {
  std::int64_t each = 1;
  Expr iteration;
  Team inside;
};

LoopShares shares_of(const ir::For& loop, const Team& team) {
  const std::int64_t each = std::max<std::int64_t>(needed(loop.body, loop.kind), 1);
  return {each, each == 1 ? team.number : team.number / each, {each == 1 ? 0 : team.number % each, each}};
}

Teams Teams::inside(const ir::For& loop) const {
  Teams result = *this;
  if (!ir::is_within_block(loop.kind)) return result;
  result.of(loop.kind) = shares_of(loop, result.of(loop.kind)).inside;
  // Threads are warps and lanes at once: one team is left of both.
  if (loop.kind == LoopKind::thread) {
    result.warps = Team{};
    result.lanes = result.threads;
  }
  return result;
}

/// The statement where the condition holds; barriers are reached by all threads.
Stmt where(const Expr& condition, const Stmt& stmt) {
  if (!ir::any<ir::Barrier>(stmt) && !holds_arrival(stmt)) return ir::if_then(condition, stmt);
  return with_children(stmt, [&](const Stmt& child) { return where(condition, child); });
}

/// Bound loops become Lets, outermost first: how many warps an iteration gets depends on the loops inside.
class Mapping {
 public:
  Stmt operator()(const Stmt& stmt, const Teams& teams) const {
    if (stmt.defined() && stmt.as<ir::For>() != nullptr) return of(*stmt.as<ir::For>(), teams);
    return with_children(stmt, [&](const Stmt& child) { return (*this)(child, teams); });
  }

 private:
  Stmt of(const ir::For& loop, Teams teams) const {
    const Stmt body = (*this)(loop.body, teams.inside(loop));
    if (ir::is_within_block(loop.kind)) {
      const Team& team = teams.of(loop.kind);
      const LoopShares shares = shares_of(loop, team);
      return bound(loop, shares.iteration, ceil_divide(team.count, shares.each), body);
    }
    if (ir::is_block(loop.kind))
      return ir::let(loop.name, ir::call(std::string(ir::name_of(loop.kind)), DType::i64, {}) + loop.begin,
                     body);
    return ir::for_loop(loop, body);
  }

  /// The index as the loop's variable, with a condition where more of them come than the loop has iterations.
  static Stmt bound(const ir::For& loop, const Expr& index, std::int64_t offered, Stmt body) {
    if (offered > extent_of(loop)) body = where(ir::variable(loop.name) < loop.begin + loop.extent, body);
    return ir::let(loop.name, index + loop.begin, body);
  }
};

/// Adds conditions to stores that stand inside no loop over some part of the block's threads.
class SingleWriter {
 public:
  /// `teams` reach the statement together.
  Stmt operator()(const Stmt& stmt, const Teams& teams) const {
    if (!stmt.defined()) return stmt;
    if (const auto* s = stmt.as<ir::Store>()) {
      if (s->buffer->scope == ir::Scope::registers) return stmt;
      Expr writes = ir::boolean(true);
      for (const Team& team : {teams.warps, teams.lanes}) {
        if (team.count > 1) writes = writes && team.number < 1;
      }
      return ir::if_then(writes, stmt);
    }
    // Those who copy have shared out what they write.
    const auto* let = stmt.as<ir::Let>();
    if (let != nullptr && let->name == producer_name) return stmt;
    const auto* loop = stmt.as<ir::For>();
    const Teams inside = loop != nullptr ? teams.inside(*loop) : teams;
    return with_children(stmt, [&](const Stmt& child) { return (*this)(child, inside); });
  }
};

}  // namespace

std::int64_t threads_of(const ir::Program& program) {
  const std::int64_t warps = needed(program.body, LoopKind::warp);
  const std::int64_t lanes = needed(program.body, LoopKind::lane);
  const std::int64_t by_warps = warps > 0 ? warps * 32 : lanes > 0 ? 32 : 0;
  return std::max<std::int64_t>({by_warps, needed(program.body, LoopKind::thread), 1});
}

ir::Program let_one_thread_write(ir::Program program, std::int64_t threads) {
  program.body = SingleWriter{}(program.body, Teams::of_block(threads));
  return program;
}

ir::Program map_threads(ir::Program program, std::int64_t threads, Launch& launch) {
  launch.grid = {grid_extent(program, LoopKind::block_x), grid_extent(program, LoopKind::block_y),
                 grid_extent(program, LoopKind::block_z)};
  launch.threads = threads;
  ir::each<ir::For>(program.body, [&](const ir::For& loop) {
    if (!program.cluster || loop.name != program.cluster->loop) return;
    launch.cluster.at(static_cast<std::size_t>(loop.kind) - static_cast<std::size_t>(LoopKind::block_x)) =
        program.cluster->blocks;
  });
  program.body = Mapping{}(program.body, Teams::of_block(threads));
  return program;
}

ir::Program serialize_bound_loops(ir::Program program) {
  program.body = ir::rewrite<ir::For>(program.body, [](const ir::For& loop, const Stmt& s) {
    if (!ir::is_bound(loop.kind)) return s;
    ir::For serial = loop;
    serial.kind = LoopKind::serial;
    return ir::for_loop(std::move(serial));
  });
  return program;
}

}  // namespace weft::passes
