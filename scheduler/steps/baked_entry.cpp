#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/baked_entry.h>

#include <algorithm>
#include <cmath>

namespace weft::steps {

void BakedEntry::take(const ir::Expr& added) {
  const auto* product = added.as<ir::Binary>();
  value = added;
  if (product == nullptr || product->op != ir::BinaryOperator::multiply) return;
  const bool left = product->left.as<ir::Constant>() != nullptr;
  if (!left && product->right.as<ir::Constant>() == nullptr) return;
  value = left ? product->left : product->right;
  shared = left ? product->right : product->left;
}

bool BakedEntry::has_finite_value() const {
  const auto* constant = value.as<ir::Constant>();
  return constant != nullptr && std::isfinite(constant->real);
}

bool alike(const BakedEntry& a, const BakedEntry& b) {
  if (!a.shared.defined() || !b.shared.defined() || a.conditions.size() != b.conditions.size()) return false;
  return ir::same(a.shared, b.shared) &&
         std::equal(a.conditions.begin(), a.conditions.end(), b.conditions.begin(),
                    [](const ir::Expr& x, const ir::Expr& y) { return ir::same(x, y); });
}

}  // namespace weft::steps
