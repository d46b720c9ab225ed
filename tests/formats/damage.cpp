#include "formats/damage.h"

namespace weft {

std::string complaint(const SparseTensor& tensor) {
  try {
    tensor.check();
  } catch (const UserError& error) {
    return error.report().where + " | " + error.report().found + " | " + error.report().accepted;
  }
  return "none";
}

SparseTensor with_array(const SparseTensor& tensor, const std::string& name, const Array& array) {
  std::vector<SparseTensor::NamedArray> arrays = tensor.arrays();
  for (auto& named : arrays) {
    if (named.name == name) named.array = array;
  }
  return SparseTensor(tensor.format(), tensor.shape(), tensor.rows(), tensor.columns(), tensor.levels(),
                      arrays, tensor.value_order());
}

SparseTensor damaged(const SparseTensor& tensor, const std::string& name, std::int64_t element,
                     double value) {
  Array array = tensor.array(name);
  array.set(element, value);
  return with_array(tensor, name, array);
}

}  // namespace weft
