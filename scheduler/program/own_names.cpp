#include <weft/scheduler/program/own_names.h>

#include <algorithm>
#include <string_view>

namespace weft {
namespace {

bool is_named(const Algorithm& algorithm, const std::string& name) {
  const auto has_size = [&](const Operand& operand) {
    return std::ranges::any_of(operand.shape, [&](const Extent& extent) { return extent.name == name; });
  };
  return std::ranges::find(algorithm.indices, name, &IndexVariable::name) != algorithm.indices.end() ||
         std::ranges::find(algorithm.operands, name, &Operand::name) != algorithm.operands.end() ||
         std::ranges::find(algorithm.scalars, name) != algorithm.scalars.end() ||
         std::ranges::any_of(algorithm.operands, has_size);
}

/// In how many ways the text is indices with an underscore between each two.
int readings(const Algorithm& algorithm, std::string_view text) {
  int count = 0;
  for (const IndexVariable& index : algorithm.indices) {
    if (!text.starts_with(index.name)) continue;
    const std::string_view rest = text.substr(index.name.size());
    count += rest.empty() ? 1 : rest.front() == '_' ? readings(algorithm, rest.substr(1)) : 0;
  }
  return count;
}

std::string joined(const std::vector<std::string>& names, std::string_view between) {
  std::string result;
  for (const std::string& name : names) result.append(result.empty() ? "" : between).append(name);
  return result;
}

}  // namespace

std::string own_name(const Algorithm& algorithm, const std::string& wanted) {
  return is_named(algorithm, wanted) ? wanted + ".own" : wanted;
}

SparseIndices sparse_indices(const Algorithm& algorithm) {
  SparseIndices indices;
  for (const TensorAccess& factor : algorithm.factors) {
    if (algorithm.operands[factor.operand].storage != Storage::sparse) continue;
    for (const AffineIndex& index : factor.indices)
      (algorithm.index(*index.plain()).reduction ? indices.columns : indices.rows).push_back(*index.plain());
  }
  return indices;
}

std::string joined_indices(const Algorithm& algorithm, const std::vector<std::string>& names) {
  const std::string plain = joined(names, "_");
  const bool clear = names.size() < 2 || (readings(algorithm, plain) == 1 && !is_named(algorithm, plain));
  return clear ? plain : joined(names, "__");
}

}  // namespace weft
