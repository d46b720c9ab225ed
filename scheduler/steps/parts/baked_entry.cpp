#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/parts/baked_entry.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>

namespace weft::steps {
namespace {

/// The same for entries that are alike; seldom for others.
std::size_t likeness(const BakedEntry& entry) {
  std::size_t all = entry.conditions.size();
  const auto mix = [&](std::size_t part) { all = (all ^ part) * 0x100000001b3U + (all >> 29U); };
  const auto take = [&](const ir::Expr& part) {
    mix(part.node().index());
    if (const std::int64_t* number = ir::integer_value(part)) mix(static_cast<std::size_t>(*number));
    if (const auto* variable = part.as<ir::Variable>()) mix(std::hash<std::string>()(variable->name));
    if (const auto* load = part.as<ir::Load>()) mix(std::hash<const void*>()(load->buffer.get()));
  };
  ir::visit(entry.shared, take);
  for (const ir::Expr& condition : entry.conditions) ir::visit(condition, take);
  return all;
}

/// Whether both multiply the same under the same conditions, so that it is read once for them.
bool alike(const BakedEntry& a, const BakedEntry& b) {
  return a.shared.defined() && b.shared.defined() && ir::same(a.shared, b.shared) &&
         ir::same(a.conditions, b.conditions);
}

}  // namespace

void BakedEntry::take(const ir::Expr& added) {
  const auto* product = ir::as_binary(added, ir::BinaryOperator::multiply);
  value = added;
  if (product == nullptr) return;
  const bool left = product->left.as<ir::Constant>() != nullptr;
  if (!left && product->right.as<ir::Constant>() == nullptr) return;
  value = left ? product->left : product->right;
  shared = left ? product->right : product->left;
}

bool BakedEntry::has_finite_value() const {
  const auto* constant = value.as<ir::Constant>();
  return constant != nullptr && std::isfinite(constant->real);
}

std::vector<std::vector<BakedEntry>> together_alike(std::vector<BakedEntry> entries) {
  std::vector<std::vector<BakedEntry>> groups;
  std::unordered_map<std::size_t, std::vector<std::size_t>> candidates;
  for (BakedEntry& entry : entries) {
    if (!entry.shared.defined()) {
      groups.push_back({std::move(entry)});
      continue;
    }
    std::vector<std::size_t>& near = candidates[likeness(entry)];
    const auto found =
        std::ranges::find_if(near, [&](std::size_t group) { return alike(groups[group].front(), entry); });
    if (found == near.end()) {
      near.push_back(groups.size());
      groups.push_back({std::move(entry)});
    } else {
      groups[*found].push_back(std::move(entry));
    }
  }
  return groups;
}

bool without_condition(const ir::Expr& condition, ir::Expr& shared, const std::vector<ir::For>& columns) {
  const auto* less = ir::as_binary(condition, ir::BinaryOperator::less);
  if (less == nullptr || is_float(less->left.dtype())) return false;
  const bool vector = std::ranges::find(columns, LoopKind::vectorized, &ir::For::kind) != columns.end();
  if (vector || !ir::uses_any(condition, columns)) return false;
  bool replaced = true;
  const ir::Expr changed = ir::rewrite<ir::Load>(shared, [&](const ir::Load& load, const ir::Expr& e) {
    // A tile in shared memory holds every column, zero behind the last one.
    if (load.buffer->scope == ir::Scope::shared) return e;
    std::vector<ir::Expr> indices = load.indices;
    bool here = false;
    for (ir::Expr& index : indices) {
      if (!ir::same(index, less->left)) continue;
      index = ir::minimum(index, less->right - 1);
      here = true;
    }
    replaced = replaced && here;
    return ir::load(load.buffer, std::move(indices));
  });
  if (replaced) shared = changed;
  return replaced;
}

}  // namespace weft::steps
