#include <fmt/format.h>
#include <weft/formats/io/split_weight.h>

#include <map>

namespace weft::io {

void refuse_tensor(const StoredTensor& tensor, std::string found, std::string accepted) {
  refuse(tensor.origin, "tensor " + in_quotes(tensor.name), std::move(found), std::move(accepted));
}

void expect(const StoredTensor& tensor, std::string_view dtype, const std::vector<std::int64_t>& shape) {
  if (tensor.dtype == dtype && tensor.shape == shape) return;
  refuse_tensor(tensor, tensor.dtype + " " + text_of_shape(tensor.shape),
                fmt::format("{} {}", dtype, text_of_shape(shape)));
}

std::function<const StoredTensor*(const std::string&)> finder(std::span<const StoredTensor> tensors) {
  std::map<std::string_view, const StoredTensor*> by_name;
  for (const StoredTensor& tensor : tensors) by_name.emplace(tensor.name, &tensor);
  return [by_name = std::move(by_name)](const std::string& name) {
    const auto found = by_name.find(name);
    return found == by_name.end() ? nullptr : found->second;
  };
}

WeightMatrix SplitWeight::matrix() const {
  WeightMatrix matrix;
  matrix.shape = {rows, columns};
  matrix.rows = rows;
  matrix.columns = columns;
  matrix.origin = values().origin + ":" + name;
  matrix.row_begin.push_back(0);
  return matrix;
}

WeightMatrix SplitWeight::with_values(WeightMatrix matrix, std::optional<DType> reinterpret_as) const {
  const StoredTensor& stored = values();
  Array array = array_of(stored, reinterpret_as);
  if (array.size() != matrix.stored())
    refuse_tensor(stored, fmt::format("{} values", array.size()),
                  fmt::format("{}, as the bitmask has bits", matrix.stored()));
  matrix.values = std::move(array).reshaped({matrix.stored()});
  check_finite(matrix.values, stored.origin, [&](std::int64_t i) {
    return fmt::format("tensor {}, value {}, byte {}", in_quotes(stored.name), i,
                       stored.offset + static_cast<std::size_t>(i) * size_of(matrix.values.dtype()));
  });
  return matrix;
}

}  // namespace weft::io
