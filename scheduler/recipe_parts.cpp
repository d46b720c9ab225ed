#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/recipe_parts.h>

#include <algorithm>
#include <bit>

namespace weft {

std::string sum_loop(const Algorithm& algorithm) {
  std::string name;
  for (const IndexVariable& index : algorithm.indices) {
    if (index.reduction) name += (name.empty() ? "" : "_") + index.name;
  }
  return name;
}

Extent extent_of(const Algorithm& algorithm, const std::string& name) {
  for (const IndexVariable& index : algorithm.indices) {
    if (index.name == name) return index.extent;
  }
  throw InternalError("no index is called " + name);
}

std::size_t dense_operand(const Algorithm& algorithm) {
  for (const TensorAccess& factor : algorithm.factors) {
    if (algorithm.operands[factor.operand].storage != Storage::sparse) return factor.operand;
  }
  throw InternalError("a product without a dense factor");
}

std::int64_t groups_of_block(std::int64_t entries, std::int64_t of_group, std::int64_t most) {
  const auto wanted = static_cast<std::uint64_t>(std::max<std::int64_t>(1, entries / of_group));
  return std::min<std::int64_t>(most, static_cast<std::int64_t>(std::bit_ceil(wanted)));
}

void IdleKnobs::refuse(std::int64_t value, const char* knob, const char* accepted) const {
  if (value == 0) return;
  throw UserError({"a knob of the recipe would have no effect", algorithm_,
                   fmt::format("{} = {} with {}", knob, value, where_), accepted});
}

ProductLoops product_loops(const Algorithm& algorithm) {
  ProductLoops found;
  std::vector<std::string> outputs;
  for (const IndexVariable& index : algorithm.indices) {
    if (!index.reduction) outputs.push_back(index.name);
  }
  const Operand* sparse = algorithm.sparse_operand();
  if (sparse == nullptr || sparse->shape.size() != 2 || outputs.size() != 2) return found;
  for (const TensorAccess& factor : algorithm.factors) {
    if (&algorithm.operands[factor.operand] != sparse) continue;
    const std::string* row = factor.indices.front().plain();
    if (row != nullptr && std::ranges::find(outputs, *row) != outputs.end()) found.rows = *row;
  }
  for (const std::string& name : outputs) {
    if (name != found.rows) found.columns = name;
  }
  if (found.rows.empty()) return {};
  found.sum = sum_loop(algorithm);
  for (const TensorAccess& factor : algorithm.factors) {
    const Operand& operand = algorithm.operands[factor.operand];
    if (&operand != sparse) found.dense = operand.name;
  }
  return found;
}

}  // namespace weft
