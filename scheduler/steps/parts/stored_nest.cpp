#include <weft/scheduler/ir/conjuncts.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/program/launch_sizes.h>
#include <weft/scheduler/steps/parts/stored_nest.h>

namespace weft::steps {

std::optional<StoredFactors> stored_factors_of(const ir::Store& store, const StepContext& context) {
  const auto* product = ir::as_binary(store.value, ir::BinaryOperator::multiply);
  if (product == nullptr) return std::nullopt;
  const ir::Load *left = ir::loaded(product->left), *right = ir::loaded(product->right);
  if (left == nullptr || right == nullptr) return std::nullopt;
  const std::string values = array_buffer_name(context.algorithm.sparse_operand()->name, "values");
  if (left->buffer->name == values) return StoredFactors{*left, *right, product->left};
  return StoredFactors{*right, *left, product->right};
}

Stmt innermost_loops(const Stmt& nest, std::size_t count) {
  Stmt inner = nest;
  while (chain_of(inner).loops.size() > count) {
    const auto* loop = inner.as<ir::For>();
    const Stmt body = loop != nullptr ? loop->body : inner.as<ir::If>()->then;
    inner = body;
  }
  return inner;
}

std::string names_of(const std::vector<ir::For>& loops) {
  std::string names;
  for (const ir::For& loop : loops) names += (names.empty() ? "" : ", ") + loop.name;
  return names;
}

std::optional<Expr> other_condition(const ir::Chain& chain,
                                    const std::function<bool(const Expr&)>& is_asked) {
  for (const Expr& all : chain.conditions) {
    for (const Expr& condition : ir::conjuncts_of(all))
      if (!is_asked(condition)) return condition;
  }
  return std::nullopt;
}

std::vector<std::size_t> kept_dimensions(const ir::Store& store, const ir::For& rows,
                                         const ir::For& columns) {
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < store.indices.size(); ++i) {
    const Expr& index = store.indices[i];
    if (!ir::uses(index, rows.name) && !ir::uses(index, columns.name)) kept.push_back(i);
  }
  return kept;
}

}  // namespace weft::steps
