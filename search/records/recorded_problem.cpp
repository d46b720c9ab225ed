#include <weft/scheduler/recipes/parts/product.h>
#include <weft/search/records/recorded_problem.h>

#include <algorithm>

namespace weft {

bool is_plain_product(const Algorithm& algorithm) {
  if (algorithm.name != "spmm" || algorithm.result.kind != Term::Kind::sum) return false;
  for (const Operand& operand : algorithm.operands) {
    if (!operand.strides.empty() || !std::ranges::all_of(operand.shape, &Extent::is_static)) return false;
  }
  return algorithm.operands.size() == 3;
}

bool begins_with_columns(const Algorithm& algorithm, const TensorAccess& access) {
  const std::string* first = access.indices.front().plain();
  return first != nullptr && *first == product_loops(algorithm).columns;
}

Record::Problem recorded_problem(const Algorithm& algorithm, const WeightMatrix& weights,
                                 std::int64_t width) {
  Record::Problem problem;
  const DType dtype = algorithm.operands[algorithm.factors.front().operand].dtype;
  problem.sizes = {{"M", weights.rows}, {"K", weights.columns}, {"N", width}};
  problem.words = {{"dtype", std::string(name_of(dtype))},
                   {"acc", std::string(name_of(algorithm.accumulator))},
                   {"algorithm", algorithm.text()}};
  if (is_plain_product(algorithm) && !begins_with_columns(algorithm, algorithm.output)) return problem;
  for (const IndexVariable& index : algorithm.indices)
    if (index.extent.is_static()) problem.sizes["extent_" + index.name] = index.extent.value;
  return problem;
}

}  // namespace weft
