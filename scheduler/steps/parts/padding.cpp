#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/parts/padding.h>

#include <algorithm>

namespace weft::steps {
namespace {

using ir::Expr;
using ir::Stmt;

bool is_mark(const Expr& expr) {
  const auto* load = expr.as<ir::Load>();
  return load != nullptr && !is_float(load->buffer->dtype) && !load->buffer->non_negative;
}

/// sum += value[p] * …, where value[p] is +0 wherever column[p] marks padding.
bool is_zero_in_padding(const Stmt& stmt, const ir::Load& column) {
  if (const auto* loop = stmt.as<ir::For>()) return is_zero_in_padding(loop->body, column);
  if (const auto* condition = stmt.as<ir::If>(); condition != nullptr && !condition->otherwise.defined())
    return is_zero_in_padding(condition->then, column);
  const auto* store = stmt.as<ir::Store>();
  const auto* product = store == nullptr ? nullptr : store->value.as<ir::Binary>();
  if (product == nullptr || !store->accumulate || product->op != ir::BinaryOperator::multiply) return false;
  const auto is_value = [&](const Expr& factor) {
    const auto* cast = factor.as<ir::Cast>();
    const auto* load = (cast == nullptr ? factor : cast->operand).as<ir::Load>();
    if (load == nullptr || !load->buffer->name.ends_with(".values")) return false;
    const Expr& block = load->indices.front();
    if (ir::same(block, column.indices.front())) return true;
    // Of a group of rows: values by block, row and place; columns by block and place.
    return load->indices.size() > 1 &&
           ir::same(block * load->buffer->shape.back() + load->indices.back(), column.indices.front());
  };
  return is_value(product->left) || is_value(product->right);
}

}  // namespace

bool may_be_padding(const Expr& index, const ir::InnerLoops& loops) {
  const ir::Linear sum = ir::linear(index);
  return std::any_of(sum.terms.begin(), sum.terms.end(), [&](const ir::Linear::Term& term) {
    return term.coefficient == 1 && is_mark(term.atom) &&
           std::any_of(loops.begin(), loops.end(),
                       [&](const auto& entry) { return ir::uses(term.atom, entry.first); });
  });
}

Stmt without_padding_conditions(const Stmt& body, const ir::BufferRef& tile) {
  ir::Rewriter rewriter;
  rewriter.on_stmt = [&](const Stmt& s) {
    const auto* condition = s.as<ir::If>();
    const auto* compare = condition == nullptr ? nullptr : condition->condition.as<ir::Binary>();
    if (compare == nullptr || condition->otherwise.defined() || !ir::uses(condition->then, tile)) return s;
    const std::int64_t* zero = ir::integer_value(compare->left);
    const bool asks = compare->op == ir::BinaryOperator::less_equal && zero != nullptr && *zero == 0;
    if (!asks || !is_mark(compare->right)) return s;
    return is_zero_in_padding(condition->then, *compare->right.as<ir::Load>()) ? condition->then : s;
  };
  return rewriter(body);
}

}  // namespace weft::steps
