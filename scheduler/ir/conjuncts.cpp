#include <weft/scheduler/ir/conjuncts.h>

namespace weft::ir {
namespace {

void collect(const Expr& condition, std::vector<Expr>& parts) {
  const auto* both = condition.as<Binary>();
  if (both != nullptr && both->op == BinaryOperator::logical_and) {
    collect(both->left, parts);
    collect(both->right, parts);
  } else {
    parts.push_back(condition);
  }
}

}  // namespace

std::vector<Expr> conjuncts_of(const Expr& condition) {
  std::vector<Expr> parts;
  collect(condition, parts);
  return parts;
}

}  // namespace weft::ir
