#include <weft/scheduler/ir/conjuncts.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/program/launch_sizes.h>
#include <weft/scheduler/steps/parts/padding.h>

#include <algorithm>

namespace weft::steps {
namespace {

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
  const auto* product =
      store == nullptr ? nullptr : ir::as_binary(store->value, ir::BinaryOperator::multiply);
  if (product == nullptr || !store->accumulate) return false;
  const auto is_value = [&](const Expr& factor) {
    const auto* load = ir::loaded(factor);
    if (load == nullptr || load->buffer->name != array_buffer_name(load->buffer->tensor, "values"))
      return false;
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
  return std::ranges::any_of(sum.terms, [&](const ir::Linear::Term& term) {
    return term.coefficient == 1 && is_mark(term.atom) && ir::uses_any(term.atom, loops);
  });
}

Stmt without_padding_conditions(const Stmt& body, const ir::BufferRef& tile) {
  return ir::rewrite<ir::If>(body, [&](const ir::If& branch, const Stmt& s) {
    const auto bound = ir::bound_of(branch.condition);
    const bool asks = bound && !bound->end.defined() && is_mark(bound->index);
    if (!asks || branch.otherwise.defined() || !ir::uses(branch.then, tile)) return s;
    return is_zero_in_padding(branch.then, *bound->index.as<ir::Load>()) ? branch.then : s;
  });
}

}  // namespace weft::steps
