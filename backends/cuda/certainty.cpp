#include <weft/backends/cuda/certainty.h>
#include <weft/scheduler/ir/visit.h>

namespace weft::cuda {

void visit_with_certainty(const ir::Expr& expr, bool is_certain,
                          const std::function<void(const ir::Expr& part, bool is_certain)>& on_part) {
  const auto inside = [&](const ir::Expr& part, bool certain) {
    visit_with_certainty(part, certain, on_part);
  };
  std::visit(ir::overloaded{
                 [&](const ir::Load& e) {
                   for (const ir::Expr& index : e.indices) inside(index, is_certain);
                 },
                 [&](const ir::Unary& e) { inside(e.operand, is_certain); },
                 [&](const ir::Binary& e) {
                   inside(e.left, is_certain);
                   // && and || of C++ leave their right side out.
                   const bool lazy =
                       e.op == ir::BinaryOperator::logical_and || e.op == ir::BinaryOperator::logical_or;
                   inside(e.right, is_certain && !lazy);
                 },
                 [&](const ir::Select& e) {
                   inside(e.condition, is_certain);
                   inside(e.when_true, false);
                   inside(e.when_false, false);
                 },
                 [&](const ir::Cast& e) { inside(e.operand, is_certain); },
                 [&](const ir::Call& e) {
                   for (const ir::Expr& argument : e.arguments) inside(argument, is_certain);
                 },
                 [](const auto&) {},
             },
             expr.node().kind());
  on_part(expr, is_certain);
}

}  // namespace weft::cuda
