#include <weft/scheduler/ir/conjuncts.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/passes.h>

#include <algorithm>
#include <set>
#include <string>

namespace weft::passes {
namespace {

using ir::Expr;
using ir::Stmt;

/// The condition at its hardest over all iterations of the inner loops it uses, or undefined where that is
/// not to be had: an inner loop of unknown range, or an index that is no sum.
Expr hardest(const Expr& condition, const ir::InnerLoops& inner) {
  const auto* comparison = condition.as<ir::Binary>();
  const bool ordered = comparison != nullptr && (comparison->op == ir::BinaryOperator::less ||
                                                 comparison->op == ir::BinaryOperator::less_equal);
  if (!ordered) return {};
  ir::Linear sum = ir::linear(comparison->left - comparison->right);
  for (ir::Linear::Term& term : sum.terms) {
    for (const auto& [name, loop] : inner) {
      if (!ir::uses(term.atom, name)) continue;
      const std::int64_t* begin = ir::integer_value(loop.begin);
      const std::int64_t* extent = ir::integer_value(loop.extent);
      if (term.atom.as<ir::Variable>() == nullptr || begin == nullptr || extent == nullptr) return {};
      sum.constant += term.coefficient * (term.coefficient > 0 ? *begin + *extent - 1 : *begin);
      term.coefficient = 0;
    }
  }
  std::erase_if(sum.terms, [](const ir::Linear::Term& term) { return term.coefficient == 0; });
  return ir::binary(comparison->op, sum.expr(), ir::integer(0));
}

/// What exists inside the body alone: values, and buffers that are allocated or written there.
struct MadeInside {
  std::set<std::string> values;
  std::set<const ir::Buffer*> buffers;
};

MadeInside made_inside(const Stmt& body) {
  MadeInside made;
  ir::visit(body, [&](const Stmt& s) {
    if (const auto* let = s.as<ir::Let>()) made.values.insert(let->name);
    if (const auto* allocation = s.as<ir::Allocate>()) made.buffers.insert(allocation->buffer.get());
    if (const auto* store = s.as<ir::Store>()) made.buffers.insert(store->buffer.get());
    if (const auto* copy = s.as<ir::Copy>()) made.buffers.insert(copy->destination.get());
  });
  return made;
}

/// Whether the condition can be asked in front of the body of that loop: it needs nothing that is made
/// inside, and reads only what is there whichever iteration it is; conditions around it may say where more
/// can be read.
bool known_outside(const Expr& condition, const std::string& name, const ir::InnerLoops& inner,
                   const MadeInside& made) {
  bool known = true;
  ir::visit(condition, [&](const Expr& e) {
    if (const auto* variable = e.as<ir::Variable>()) known = known && made.values.count(variable->name) == 0;
    const auto* load = e.as<ir::Load>();
    if (load == nullptr) return;
    known = known && made.buffers.count(load->buffer.get()) == 0;
    for (const Expr& index : load->indices) {
      known = known && !ir::uses(index, name) &&
              std::ranges::none_of(inner, [&](const auto& entry) { return ir::uses(index, entry.first); });
    }
  });
  return known;
}

/// Conditions inside vectorized loops of `body` that need the loop `name` and, besides it, only loops that
/// are vectorized or unrolled.
std::vector<Expr> tail_conditions(const Stmt& body, const std::string& name, const ir::InnerLoops& inner) {
  std::vector<Expr> found;
  const MadeInside made = made_inside(body);
  ir::visit(body, [&](const Stmt& s) {
    const auto* vector = s.as<ir::For>();
    if (vector == nullptr || vector->kind != ir::LoopKind::vectorized) return;
    ir::visit(vector->body, [&](const Stmt& child) {
      const auto* condition = child.as<ir::If>();
      if (condition == nullptr) return;
      const std::vector<Expr> parts = ir::conjuncts_of(condition->condition);
      for (const Expr& part : parts) {
        const bool here =
            ir::uses(part, name) && ir::uses(part, vector->name) && known_outside(part, name, inner, made) &&
            std::none_of(inner.begin(), inner.end(), [&](const auto& entry) {
              return ir::uses(part, entry.first) && entry.second.kind != ir::LoopKind::vectorized &&
                     entry.second.kind != ir::LoopKind::unrolled;
            });
        const bool known =
            std::any_of(found.begin(), found.end(), [&](const Expr& e) { return ir::same(e, part); });
        if (here && !known && hardest(part, inner).defined()) found.push_back(part);
      }
    });
  });
  return found;
}

Stmt without(const Stmt& stmt, const std::vector<Expr>& conditions) {
  ir::Rewriter rewriter;
  rewriter.on_stmt = [&](const Stmt& s) {
    const auto* condition = s.as<ir::If>();
    if (condition == nullptr) return s;
    const std::vector<Expr> parts = ir::conjuncts_of(condition->condition);
    Expr rest = ir::boolean(true);
    for (const Expr& part : parts) {
      const bool dropped =
          std::any_of(conditions.begin(), conditions.end(), [&](const Expr& e) { return ir::same(e, part); });
      if (!dropped) rest = rest && part;
    }
    return ir::if_then(rest, condition->then, condition->otherwise);
  };
  return rewriter(stmt);
}

/// The body of the iterations where the conditions may fail. Where only the last one is left of a known
/// number, it says which.
Stmt tail_of(const ir::For& loop, const Expr& all_hold) {
  const std::int64_t* begin = ir::integer_value(loop.begin);
  const std::int64_t* extent = ir::integer_value(loop.extent);
  if (begin == nullptr || extent == nullptr) return loop.body;
  const std::int64_t last = *begin + *extent - 1;
  const bool others_hold = *extent == 1 || ir::always(all_hold, {{loop.name, {*begin, last - 1}}});
  return others_hold ? ir::substitute(loop.body, {{loop.name, ir::integer(last)}}) : loop.body;
}

Stmt split(const ir::For& loop) {
  if (loop.kind == ir::LoopKind::vectorized || loop.kind == ir::LoopKind::unrolled) return ir::for_loop(loop);
  const ir::InnerLoops inner = ir::inner_loops(loop.body);
  const std::vector<Expr> conditions = tail_conditions(loop.body, loop.name, inner);
  if (conditions.empty()) return ir::for_loop(loop);
  Expr all_hold = ir::boolean(true);
  for (const Expr& condition : conditions) all_hold = all_hold && hardest(condition, inner);
  ir::For result = loop;
  result.body = ir::if_then(all_hold, without(loop.body, conditions), tail_of(loop, all_hold));
  return ir::for_loop(std::move(result));
}

}  // namespace

ir::Program split_tails(ir::Program program) {
  ir::Rewriter rewriter;
  rewriter.on_stmt = [](const Stmt& s) {
    const auto* loop = s.as<ir::For>();
    return loop == nullptr ? s : split(*loop);
  };
  program.body = rewriter(program.body);
  return program;
}

}  // namespace weft::passes
