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

/// The condition at its hardest over all iterations of the inner loops it uses, or undefined where that is
/// not to be had: an inner loop of unknown range, or an index that is no sum.
Expr hardest(const Expr& condition, const ir::InnerLoops& inner) {
  const auto* comparison = ir::inequality(condition);
  if (comparison == nullptr) return {};
  ir::Linear sum = ir::linear(comparison->left - comparison->right);
  for (ir::Linear::Term& term : sum.terms) {
    for (const auto& [name, loop] : inner) {
      if (!ir::uses(term.atom, name)) continue;
      const auto known = ir::constant_iterations(loop);
      if (term.atom.as<ir::Variable>() == nullptr || !known) return {};
      sum.constant +=
          term.coefficient * (term.coefficient > 0 ? known->begin + known->extent - 1 : known->begin);
      term.coefficient = 0;
    }
  }
  std::erase_if(sum.terms, [](const ir::Linear::Term& term) { return term.coefficient == 0; });
  return ir::binary(comparison->op, sum.expr(), 0);
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
  return !ir::uses_any(condition, made.values) && !ir::any<ir::Load>(condition, [&](const ir::Load& load) {
    return made.buffers.contains(load.buffer.get()) ||
           std::ranges::any_of(load.indices, [&](const Expr& index) {
             return ir::uses(index, name) || ir::uses_any(index, inner);
           });
  });
}

/// Loops whose conditions cost every iteration what only the last one needs: a mask of a vector, or a branch
/// for each of the groups of a sum that are written out.
bool pays_for_conditions(const ir::For& loop) {
  return loop.kind == LoopKind::vectorized ||
         (loop.kind == LoopKind::unrolled && loop.role == ir::LoopRole::groups);
}

/// Conditions inside such loops of `body` that need the loop `name` and, besides it, only loops that are
/// vectorized or unrolled.
std::vector<Expr> tail_conditions(const Stmt& body, const std::string& name, const ir::InnerLoops& inner) {
  std::vector<Expr> found;
  const MadeInside made = made_inside(body);
  ir::each<ir::For>(body, [&](const ir::For& vector) {
    if (!pays_for_conditions(vector)) return;
    ir::each<ir::If>(vector.body, [&](const ir::If& branch) {
      for (const Expr& part : ir::conjuncts_of(branch.condition)) {
        const bool here = ir::uses(part, name) && ir::uses(part, vector.name) &&
                          known_outside(part, name, inner, made) &&
                          std::ranges::none_of(inner, [&](const auto& entry) {
                            return ir::uses(part, entry.first) && entry.second.kind != LoopKind::vectorized &&
                                   entry.second.kind != LoopKind::unrolled;
                          });
        if (here && !ir::contains(found, part) && hardest(part, inner).defined()) found.push_back(part);
      }
    });
  });
  return found;
}

Stmt without(const Stmt& stmt, const std::vector<Expr>& conditions) {
  return ir::rewrite<ir::If>(stmt, [&](const ir::If& branch) {
    std::vector<Expr> rest = ir::conjuncts_of(branch.condition);
    std::erase_if(rest, [&](const Expr& part) { return ir::contains(conditions, part); });
    return ir::if_then(ir::all_of(rest), branch.then, branch.otherwise);
  });
}

/// The body of the iterations where the conditions may fail. Where only the last one is left of a known
/// number, it says which; not around products with entries, which are one code for all iterations as long as
/// both bodies speak of them alike.
Stmt tail_of(const ir::For& loop, const Expr& all_hold) {
  const auto known = ir::constant_iterations(loop);
  if (!known || ir::any<ir::SparseProduct>(loop.body)) return loop.body;
  const std::int64_t last = known->begin + known->extent - 1;
  const bool others_hold =
      known->extent == 1 || ir::always(all_hold, {{loop.name, {known->begin, last - 1}}});
  return others_hold ? ir::substitute(loop.body, {{loop.name, last}}) : loop.body;
}

Stmt split(const ir::For& loop) {
  if (loop.kind == LoopKind::vectorized || loop.kind == LoopKind::unrolled) return ir::for_loop(loop);
  const ir::InnerLoops inner = ir::inner_loops(loop.body);
  const std::vector<Expr> conditions = tail_conditions(loop.body, loop.name, inner);
  if (conditions.empty()) return ir::for_loop(loop);
  Expr all_hold = ir::boolean(true);
  for (const Expr& condition : conditions) all_hold = all_hold && hardest(condition, inner);
  return ir::for_loop(loop, ir::if_then(all_hold, without(loop.body, conditions), tail_of(loop, all_hold)));
}

}  // namespace

ir::Program split_tails(ir::Program program) {
  program.body = ir::rewrite<ir::For>(program.body, split);
  return program;
}

}  // namespace weft::passes
