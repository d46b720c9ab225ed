#include <weft/dsl/errors.h>
#include <weft/scheduler/check_weights.h>

#include <algorithm>

namespace weft {
namespace {

std::string shape_text(const Operand& operand) {
  std::string text;
  for (const Extent& extent : operand.shape) text += (text.empty() ? "[" : ", ") + extent.text();
  return text + "]";
}

bool has_shape(const Operand& operand, const std::vector<std::int64_t>& shape) {
  return std::equal(shape.begin(), shape.end(), operand.shape.begin(), operand.shape.end(),
                    [](std::int64_t size, const Extent& extent) {
                      return extent.is_static() ? size == extent.value : size % extent.multiple == 0;
                    });
}

}  // namespace

void check_weights(const Algorithm& algorithm, const SparseTensor* weights) {
  const Operand* sparse = algorithm.sparse_operand();
  if (sparse == nullptr) {
    if (weights == nullptr) return;
    throw UserError({"weights were given to an algorithm without a sparse operand", algorithm.name,
                     algorithm.text(), "an algorithm with one Tensor<…, sparse>"});
  }
  if (weights == nullptr) {
    throw UserError({"the sparse operand " + sparse->name + " has no weights", algorithm.name,
                     algorithm.text(), "schedule(algorithm, weights, target)"});
  }
  if (!has_shape(*sparse, weights->shape()) && !has_shape(*sparse, {weights->rows(), weights->columns()})) {
    throw UserError({"the weights do not have the shape of " + sparse->name, algorithm.name,
                     text_of_shape(weights->shape()), shape_text(*sparse)});
  }
  if (algorithm.takes_any_weights() && weights->row_levels() == 0) {
    throw UserError({"weights of any size do not fit the format", algorithm.name, weights->format().text(),
                     "a format that stores row by row"});
  }
  if (weights->dtype() != sparse->dtype) {
    throw UserError({"the weights do not have the element type of " + sparse->name, algorithm.name,
                     std::string(name_of(weights->dtype())), std::string(name_of(sparse->dtype))});
  }
}

}  // namespace weft
