#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/fold.h>
#include <weft/scheduler/ir/visit.h>

#include <algorithm>

namespace weft::ir {
namespace {

Expr fold_constants(BinaryOperator op, std::int64_t a, std::int64_t b) {
  const auto value = computed(op, a, b);
  if (!value) return {};
  return op >= BinaryOperator::equal ? boolean(*value != 0) : integer(*value);
}

/// (x op c1) op c2 becomes x op (c1 op c2) for sums and products, x / (c1 * c2) for quotients.
Expr fold_nested(BinaryOperator op, const Expr& left, std::int64_t right) {
  const auto* inner = left.as<Binary>();
  if (inner == nullptr) return {};
  const std::int64_t* c = integer_value(inner->right);
  if (c == nullptr) return {};
  // What 64 bits do not hold stays two constants.
  const auto with = [&](BinaryOperator outer, const Expr& constant) {
    return constant.defined() ? binary(outer, inner->left, constant) : Expr();
  };
  if (op == BinaryOperator::add && inner->op == BinaryOperator::add)
    return with(BinaryOperator::add, fold_constants(BinaryOperator::add, *c, right));
  if (op == BinaryOperator::add && inner->op == BinaryOperator::subtract)
    return with(BinaryOperator::add, fold_constants(BinaryOperator::subtract, right, *c));
  if (op == BinaryOperator::subtract && inner->op == BinaryOperator::add)
    return with(BinaryOperator::add, fold_constants(BinaryOperator::subtract, *c, right));
  if (op == BinaryOperator::subtract && inner->op == BinaryOperator::subtract)
    return with(BinaryOperator::subtract, fold_constants(BinaryOperator::add, *c, right));
  if (op == BinaryOperator::multiply && inner->op == BinaryOperator::multiply)
    return with(BinaryOperator::multiply, fold_constants(BinaryOperator::multiply, *c, right));
  if (op == BinaryOperator::divide && inner->op == BinaryOperator::divide && right > 0) {
    std::int64_t both = 0;
    return __builtin_mul_overflow(*c, right, &both) ? Expr() : inner->left / integer(both);
  }
  if (op == BinaryOperator::divide && inner->op == BinaryOperator::multiply && right > 0 && *c % right == 0)
    return inner->left * integer(*c / right);
  return {};
}

Expr fold_with_right(BinaryOperator op, const Expr& left, std::int64_t right) {
  if (Expr nested = fold_nested(op, left, right); nested.defined()) return nested;
  switch (op) {
    case BinaryOperator::add:
      if (right == 0) return left;
      if (right < 0 && right != INT64_MIN) return left - integer(-right);
      break;
    case BinaryOperator::subtract:
      if (right == 0) return left;
      if (right < 0 && right != INT64_MIN) return left + integer(-right);
      break;
    case BinaryOperator::multiply:
      if (right == 0) return integer(0);
      if (right == 1) return left;
      break;
    case BinaryOperator::divide:
      if (right == 1) return left;
      break;
    case BinaryOperator::remainder:
      if (right == 1) return integer(0);
      break;
    case BinaryOperator::exclusive_or:
      if (right == 0) return left;
      break;
    case BinaryOperator::logical_and: return right != 0 ? left : boolean(false);
    case BinaryOperator::logical_or: return right != 0 ? boolean(true) : left;
    default: break;
  }
  return {};
}

bool commutes(BinaryOperator op) {
  return op == BinaryOperator::add || op == BinaryOperator::multiply || op == BinaryOperator::minimum ||
         op == BinaryOperator::maximum || op == BinaryOperator::exclusive_or ||
         op == BinaryOperator::logical_and || op == BinaryOperator::logical_or;
}

}  // namespace

Expr fold(BinaryOperator op, const Expr& left, const Expr& right) {
  if (is_float(left.dtype())) return {};
  const std::int64_t* a = integer_value(left);
  const std::int64_t* b = integer_value(right);
  if (a != nullptr && b != nullptr) return fold_constants(op, *a, *b);
  if (b != nullptr) return fold_with_right(op, left, *b);
  if (a != nullptr && commutes(op)) return binary(op, right, left);
  if (op == BinaryOperator::subtract && same(left, right)) return integer(0);
  if (op == BinaryOperator::add) {
    // begin + (end - begin) is how the end of a loop is asked for.
    const auto* difference = right.as<Binary>();
    if (difference != nullptr && difference->op == BinaryOperator::subtract && same(difference->right, left))
      return difference->left;
  }
  return {};
}

}  // namespace weft::ir
