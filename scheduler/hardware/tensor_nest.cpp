#include <weft/scheduler/hardware/kept_blocks.h>
#include <weft/scheduler/hardware/tensor_nest.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/visit.h>

#include <algorithm>

namespace weft {
namespace {

bool depends(const std::vector<Expr>& indices, const std::string& name) {
  return std::ranges::any_of(indices, [&](const Expr& index) { return ir::uses(index, name); });
}

/// The rows that a kept slot depends on say which of four; the tile of the right factor has all four.
std::vector<Expr> without_codes(const ir::Load& load) {
  std::vector<Expr> indices = load.indices;
  const Expr kept = kept_slot_of(load);
  if (!kept.defined()) return indices;
  for (Expr& index : indices) index = with_slot(index, kept.as<ir::Call>()->arguments.back());
  return indices;
}

}  // namespace

Expr with_slot(const Expr& expr, const Expr& slot) {
  return ir::rewrite<ir::Call>(
      expr, [&](const ir::Call&, const Expr& e) { return as_kept_slot(e) != nullptr ? slot : e; });
}

Expr kept_slot_of(const ir::Load& load) {
  Expr found;
  for (const Expr& index : load.indices)
    ir::visit(index, [&](const Expr& e) { found = as_kept_slot(e) != nullptr ? e : found; });
  return found;
}

std::optional<TensorNest> tensor_nest_of(const std::vector<ir::For>& loops, const ir::Store& store) {
  const auto* product = ir::as_binary(store.value, ir::BinaryOperator::multiply);
  if (product == nullptr) return std::nullopt;
  const ir::Load* factors[] = {ir::loaded(product->left), ir::loaded(product->right)};
  if (factors[0] == nullptr || factors[1] == nullptr) return std::nullopt;
  TensorNest nest;
  nest.sum = store.buffer;
  for (const bool swapped : {false, true}) {
    const ir::Load& left = *factors[swapped ? 1 : 0];
    const ir::Load& right = *factors[swapped ? 0 : 1];
    const std::vector<Expr> of_tile = without_codes(right);
    const ir::For* rows = nullptr;
    const ir::For* columns = nullptr;
    const ir::For* depth = nullptr;
    bool fits = true;
    for (const ir::For& loop : loops) {
      if (ir::is_within_block(loop.kind)) continue;
      const bool of_sum = depends(store.indices, loop.name);
      const bool of_left = depends(left.indices, loop.name);
      const bool of_right = depends(of_tile, loop.name);
      const ir::For** role = of_sum && of_left && !of_right   ? &rows
                             : of_sum && !of_left && of_right ? &columns
                             : !of_sum && of_left && of_right ? &depth
                                                              : nullptr;
      const auto known = ir::constant_iterations(loop);
      const bool plain = loop.kind == LoopKind::serial || loop.kind == LoopKind::unrolled;
      fits = fits && role != nullptr && *role == nullptr && plain && known && known->begin == 0;
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
    nest.slot = kept_slot_of(right);
    for (std::size_t i = 0; i < store.indices.size(); ++i) {
      const bool walked = ir::uses(store.indices[i], rows->name) || ir::uses(store.indices[i], columns->name);
      if (!walked) nest.kept.push_back(i);
    }
    return nest;
  }
  return std::nullopt;
}

}  // namespace weft
