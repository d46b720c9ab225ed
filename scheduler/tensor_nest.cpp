#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/tensor_nest.h>

#include <algorithm>

namespace weft {
namespace {

using ir::Expr;

const ir::Load* load_of(const Expr& factor) {
  const auto* cast = factor.as<ir::Cast>();
  return cast == nullptr ? factor.as<ir::Load>() : cast->operand.as<ir::Load>();
}

bool depends(const std::vector<Expr>& indices, const std::string& name) {
  return std::any_of(indices.begin(), indices.end(),
                     [&](const Expr& index) { return ir::uses(index, name); });
}

}  // namespace

std::optional<TensorNest> tensor_nest_of(const std::vector<ir::For>& loops, const ir::Store& store) {
  const auto* product = store.value.as<ir::Binary>();
  if (product == nullptr || product->op != ir::BinaryOperator::multiply) return std::nullopt;
  const ir::Load* factors[] = {load_of(product->left), load_of(product->right)};
  if (factors[0] == nullptr || factors[1] == nullptr) return std::nullopt;
  TensorNest nest;
  nest.sum = store.buffer;
  for (const bool swapped : {false, true}) {
    const ir::Load& left = *factors[swapped ? 1 : 0];
    const ir::Load& right = *factors[swapped ? 0 : 1];
    const ir::For* rows = nullptr;
    const ir::For* columns = nullptr;
    const ir::For* depth = nullptr;
    bool fits = true;
    for (const ir::For& loop : loops) {
      if (ir::is_within_block(loop.kind)) continue;
      const bool of_sum = depends(store.indices, loop.name);
      const bool of_left = depends(left.indices, loop.name);
      const bool of_right = depends(right.indices, loop.name);
      const ir::For** role = of_sum && of_left && !of_right   ? &rows
                             : of_sum && !of_left && of_right ? &columns
                             : !of_sum && of_left && of_right ? &depth
                                                              : nullptr;
      const std::int64_t* begin = ir::integer_value(loop.begin);
      const bool plain = loop.kind == ir::LoopKind::serial || loop.kind == ir::LoopKind::unrolled;
      fits = fits && role != nullptr && *role == nullptr && plain && begin != nullptr && *begin == 0 &&
             ir::integer_value(loop.extent) != nullptr;
      if (role != nullptr) *role = &loop;
    }
    // The weights' rows come first in the stored tile.
    const bool by_rows = fits && rows != nullptr && columns != nullptr && depth != nullptr &&
                         ir::uses(left.indices.back(), depth->name);
    if (!by_rows) continue;
    nest.rows = *rows;
    nest.columns = *columns;
    nest.depth = *depth;
    nest.left = left;
    nest.right = right;
    for (std::size_t i = 0; i < store.indices.size(); ++i) {
      const bool of_tile =
          ir::uses(store.indices[i], rows->name) || ir::uses(store.indices[i], columns->name);
      if (!of_tile) nest.kept.push_back(i);
    }
    return nest;
  }
  return std::nullopt;
}

}  // namespace weft
