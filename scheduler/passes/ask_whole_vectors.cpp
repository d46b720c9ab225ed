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

using ir::Expr;
using ir::Stmt;

/// The condition as all elements of a vector from 0 to `count` answer it, or undefined where they may differ:
/// x + element < y where x and y are multiples of the count, and y + element >= x.
Expr of_all(const Expr& condition, const std::string& element, std::int64_t count) {
  if (!ir::uses(condition, element)) return condition;
  const auto* comparison = condition.as<ir::Binary>();
  if (comparison == nullptr) return {};
  const bool less = comparison->op == ir::BinaryOperator::less;
  if (!less && comparison->op != ir::BinaryOperator::less_equal) return {};
  const ir::Linear sum = ir::linear(comparison->left - comparison->right);
  const Expr rest = sum.expr() - ir::variable(element) * ir::integer(less ? 1 : -1);
  const Expr simple = ir::linear(rest).expr();
  if (ir::uses(simple, element) || !divides(count, simple)) return {};
  return ir::substitute(condition, {{element, ir::integer(0)}});
}

}  // namespace

ir::Program ask_whole_vectors(ir::Program program) {
  ir::Rewriter rewriter;
  rewriter.on_stmt = [](const Stmt& s) -> Stmt {
    const auto vector = guarded_vector(s);
    if (!vector) return s;
    Expr once = ir::boolean(true), each = ir::boolean(true);
    for (const Expr& asked : ir::conjuncts_of(vector->guard->condition)) {
      const Expr all = of_all(asked, vector->loop->name, vector->elements);
      (all.defined() ? once : each) = all.defined() ? once && all : each && asked;
    }
    ir::For whole = *vector->loop;
    whole.body = ir::if_then(each, vector->guard->then);
    return ir::if_then(once, ir::for_loop(std::move(whole)));
  };
  program.body = rewriter(program.body);
  return program;
}

}  // namespace weft::passes
