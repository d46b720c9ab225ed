#include <weft/backends/cuda/certainty.h>
#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/visit.h>

namespace weft::cuda {

void visit_with_certainty(const ir::Expr& expr, bool is_certain,
                          const std::function<void(const ir::Expr& part, bool is_certain)>& on_part) {
  const auto inside = [&](const ir::Expr& part, bool certain) {
    visit_with_certainty(part, certain, on_part);
  };
  if (const auto* e = expr.as<ir::Binary>()) {
    inside(e->left, is_certain);
    // && and || of C++ leave their right side out.
    const bool lazy = e->op == ir::BinaryOperator::logical_and || e->op == ir::BinaryOperator::logical_or;
    inside(e->right, is_certain && !lazy);
  } else if (const auto* choice = expr.as<ir::Select>()) {
    inside(choice->condition, is_certain);
    inside(choice->when_true, false);
    inside(choice->when_false, false);
  } else {
    each_child(expr, [&](const ir::Expr& child) { inside(child, is_certain); });
  }
  on_part(expr, is_certain);
}

bool is_steady(const ir::Expr& expr) {
  bool steady = true;
  ir::visit(expr, [&](const ir::Expr& e) {
    const auto* load = e.as<ir::Load>();
    steady = steady && (load == nullptr || load->buffer->access == ir::Access::read);
  });
  return steady;
}

}  // namespace weft::cuda
