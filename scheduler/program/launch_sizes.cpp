#include <weft/scheduler/program/check_weights.h>
#include <weft/scheduler/program/launch_sizes.h>

namespace weft {

std::string array_buffer_name(const std::string& operand, const std::string& array) {
  return operand + "." + array;
}

std::string variable_of(const Extent& extent) {
  return extent.multiple == 1 ? extent.name : extent.name + ".parts";
}

std::string entries_variable(const std::string& operand, const std::string& array) {
  return array_buffer_name(operand, array) + ".entries";
}

ir::Expr size_of_extent(const Extent& extent) {
  if (extent.is_static()) return extent.value;
  return ir::variable(variable_of(extent)) * extent.multiple;
}

std::string outermost_variable(const std::string& operand) {
  return operand + ".outermost";
}

std::map<std::string, std::int64_t> launch_sizes(const Algorithm& algorithm, const SparseTensor* weights,
                                                 const std::map<std::string, std::int64_t>& sizes) {
  std::map<std::string, std::int64_t> result;
  const auto add = [&](const Extent& extent, std::int64_t size) {
    if (!extent.is_static()) result[variable_of(extent)] = size / extent.multiple;
  };
  for (const Operand& operand : algorithm.operands) {
    for (const Extent& extent : operand.shape) {
      if (sizes.contains(extent.name)) add(extent, sizes.at(extent.name));
    }
  }
  if (weights == nullptr || !algorithm.takes_any_weights()) return result;
  const Operand& sparse = *algorithm.sparse_operand();
  const std::vector<std::int64_t> of_weights = sizes_of_operand(algorithm, *weights);
  for (std::size_t i = 0; i < sparse.shape.size(); ++i) add(sparse.shape[i], of_weights[i]);
  for (const auto& [name, array] : weights->arrays())
    result[entries_variable(sparse.name, name)] = array.shape().front();
  result[outermost_variable(sparse.name)] = weights->levels().front().extent;
  return result;
}

}  // namespace weft
