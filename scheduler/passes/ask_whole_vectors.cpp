// ask_whole_vectors.
#include <weft/scheduler/ir/conjuncts.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/gather.h>
#include <weft/scheduler/passes/guarded_vector.h>
#include <weft/scheduler/passes/passes.h>

#include <string>

namespace weft::passes {
namespace {

/// The condition as all elements of a vector from 0 to `count` answer it, or undefined where they may differ:
/// x + element < y where x and y are multiples of the count, and y + element >= x.
Expr of_all(const Expr& condition, const std::string& element, std::int64_t count) {
  if (!ir::uses(condition, element)) return condition;
  const auto* comparison = ir::inequality(condition);
  if (comparison == nullptr) return {};
  const bool less = comparison->op == ir::BinaryOperator::less;
  const ir::Linear sum = ir::linear(comparison->left - comparison->right);
  const Expr rest = sum.expr() - ir::variable(element) * (less ? 1 : -1);
  const Expr simple = ir::linear(rest).expr();
  if (ir::uses(simple, element) || !divides(count, simple)) return {};
  return ir::substitute(condition, {{element, 0}});
}

}  // namespace

ir::Program ask_whole_vectors(ir::Program program) {
  program.body = ir::rewrite<ir::For>(program.body, [](const ir::For& loop, const Stmt& s) {
    const auto vector = guarded_vector(loop);
    if (!vector) return s;
    Expr once = ir::boolean(true), each = ir::boolean(true);
    for (const Expr& asked : ir::conjuncts_of(vector->guard->condition)) {
      const Expr all = of_all(asked, loop.name, vector->elements);
      (all.defined() ? once : each) = all.defined() ? once && all : each && asked;
    }
    return ir::if_then(once, ir::for_loop(loop, ir::if_then(each, vector->guard->then)));
  });
  return program;
}

}  // namespace weft::passes
