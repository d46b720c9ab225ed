// ask_whole_vectors.
#include <weft/scheduler/ir/conjuncts.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/gather.h>
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
    const auto* loop = s.as<ir::For>();
    if (loop == nullptr || loop->kind != ir::LoopKind::vectorized) return s;
    const auto* condition = loop->body.as<ir::If>();
    const std::int64_t* begin = ir::integer_value(loop->begin);
    const std::int64_t* extent = ir::integer_value(loop->extent);
    const bool known = begin != nullptr && *begin == 0 && extent != nullptr;
    if (condition == nullptr || condition->otherwise.defined() || !known) return s;
    Expr once = ir::boolean(true), each = ir::boolean(true);
    for (const Expr& asked : ir::conjuncts_of(condition->condition)) {
      const Expr all = of_all(asked, loop->name, *extent);
      (all.defined() ? once : each) = all.defined() ? once && all : each && asked;
    }
    ir::For whole = *loop;
    whole.body = ir::if_then(each, condition->then);
    return ir::if_then(once, ir::for_loop(std::move(whole)));
  };
  program.body = rewriter(program.body);
  return program;
}

}  // namespace weft::passes
