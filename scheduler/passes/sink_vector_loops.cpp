#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/passes.h>

#include <set>

namespace weft::passes {
namespace {

bool holds_loops_or_sums(const Stmt& stmt) {
  return ir::any<ir::Allocate>(stmt) ||
         ir::any<ir::For>(stmt, [](const ir::For& loop) { return loop.kind == LoopKind::serial; });
}

/// Whether a loop inside runs as far as an element says, or a register that is made inside: once the vector
/// stands inside of that loop, each of its elements would have such bounds.
bool has_bounds_of_elements(const ir::For& vector) {
  std::set<const ir::Buffer*> made;
  bool found = false;
  const auto is_made = [&](const ir::Expr& e) {
    const auto* load = e.as<ir::Load>();
    const auto* variable = e.as<ir::Variable>();
    found = found || (load != nullptr && made.count(load->buffer.get()) != 0) ||
            (variable != nullptr && variable->name == vector.name);
  };
  ir::visit(vector.body, [&](const Stmt& s) {
    if (const auto* allocation = s.as<ir::Allocate>()) made.insert(allocation->buffer.get());
    const auto* loop = s.as<ir::For>();
    if (loop == nullptr) return;
    ir::visit(loop->begin, is_made);
    ir::visit(loop->extent, is_made);
  });
  return found;
}

/// Whether all that the loop has inside is one of two branches, between which its elements choose.
bool is_around_a_choice(const ir::For& loop) {
  const ir::Chain inner = ir::chain_of(loop.body);
  return inner.loops.empty() && inner.core.as<ir::If>() != nullptr;
}

/// for v (vectorized): for k: body   becomes   for k: for v (vectorized): body, through allocations and
/// blocks.
Stmt sink(const ir::For& loop) {
  if (!holds_loops_or_sums(loop.body)) return ir::for_loop(loop);
  ir::Chain chain;
  chain.loops.push_back(loop);
  chain.core = loop.body;
  // Conditions directly inside depend on the vector's elements or could stand outside; they travel along.
  ir::Chain inner = ir::chain_of(loop.body);
  if (inner.loops.empty()) {
    chain.conditions = inner.conditions;
    chain.core = inner.core;
    return ir::rebuild(ir::sink_innermost(std::move(chain)));
  }
  ir::For bare = loop;
  bare.body = {};
  inner.loops.push_back(bare);
  inner = ir::sink_innermost(std::move(inner));
  return ir::rebuild(std::move(inner));
}

}  // namespace

ir::Program sink_vector_loops(ir::Program program) {
  // One round moves a loop past one chain or allocation.
  for (bool changed = true; changed;) {
    changed = false;
    program.body = ir::rewrite<ir::For>(program.body, [&](const ir::For& loop, const Stmt& s) {
      if (loop.kind != LoopKind::vectorized || !holds_loops_or_sums(loop.body)) return s;
      changed = true;
      if (!has_bounds_of_elements(loop) && !is_around_a_choice(loop)) return sink(loop);
      ir::For serial = loop;
      serial.kind = LoopKind::serial;
      return ir::for_loop(std::move(serial));
    });
  }
  return program;
}

}  // namespace weft::passes
