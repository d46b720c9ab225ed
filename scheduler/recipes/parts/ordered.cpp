#include <weft/scheduler/recipes/parts/ordered.h>
#include <weft/scheduler/recipes/parts/product.h>

#include <algorithm>
#include <utility>

namespace weft {
namespace {

bool lies_across(const Operand& operand, const TensorAccess& access, const std::string& columns) {
  if (access.indices.size() != 2 || !operand.strides.empty()) return false;
  const std::string *first = access.indices[0].plain(), *last = access.indices[1].plain();
  return first != nullptr && last != nullptr && *first == columns && *last != columns;
}

bool reads_output(const Algorithm& algorithm, const Term& term) {
  if (term.kind == Term::Kind::access && term.access.operand == algorithm.output.operand) return true;
  return std::ranges::any_of(term.arguments,
                             [&](const Term& argument) { return reads_output(algorithm, argument); });
}

}  // namespace

std::vector<std::string> operands_to_transpose(const Algorithm& algorithm) {
  const ProductLoops loops = product_loops(algorithm);
  std::vector<std::string> names;
  if (loops.columns.empty() || extent_of(algorithm, loops.columns) == Extent(1)) return names;
  for (const TensorAccess& factor : algorithm.factors) {
    const Operand& operand = algorithm.operands[factor.operand];
    if (operand.name == loops.dense && lies_across(operand, factor, loops.columns))
      names.push_back(operand.name);
  }
  const Operand& output = algorithm.operands[algorithm.output.operand];
  if (lies_across(output, algorithm.output, loops.columns) && !reads_output(algorithm, algorithm.result))
    names.push_back(output.name);
  return names;
}

bool transposes_input(const Algorithm& algorithm) {
  const std::vector<std::string> names = operands_to_transpose(algorithm);
  return std::ranges::find(names, product_loops(algorithm).dense) != names.end();
}

Schedule ordered_schedule(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights,
                          const Target& target) {
  Schedule schedule(std::move(algorithm), std::move(weights), target);
  if (!target.is_gpu()) return schedule;
  for (const std::string& name : operands_to_transpose(schedule.algorithm())) schedule.transpose(name);
  return schedule;
}

}  // namespace weft
