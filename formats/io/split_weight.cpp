#include <fmt/format.h>
#include <weft/formats/io/split_weight.h>

#include <algorithm>
#include <iterator>
#include <map>

namespace weft::io {

std::vector<SplitWeight> split_weights_among(std::span<const StoredTensor> tensors) {
  std::vector<SplitWeight> result;
  for (const auto among :
       {compressed_tensors_among, semi_structured_among, masked_weights_among, csr_parts_among})
    std::ranges::move(among(tensors), std::back_inserter(result));
  return result;
}

void refuse_tensor(const StoredTensor& tensor, std::string found, std::string accepted) {
  refuse(tensor.origin, "tensor " + in_quotes(tensor.name), std::move(found), std::move(accepted));
}

void expect(const StoredTensor& tensor, std::string_view dtype, const std::vector<std::int64_t>& shape) {
  if (tensor.dtype == dtype && tensor.shape == shape) return;
  refuse_tensor(tensor, tensor.dtype + " " + text_of_shape(tensor.shape),
                fmt::format("{} {}", dtype, text_of_shape(shape)));
}

void check_shape(const StoredTensor& tensor) {
  check_weight_shape(tensor.shape, tensor.bytes.size(), tensor.origin, "tensor " + in_quotes(tensor.name));
}

std::string place_of(const StoredTensor& tensor, std::int64_t index, DType dtype) {
  return fmt::format("tensor {}, element {}, byte {}", in_quotes(tensor.name),
                     text_of_position(index, tensor.shape),
                     tensor.offset + static_cast<std::size_t>(index) * size_of(dtype));
}

std::int64_t integer_at(const StoredTensor& tensor, std::int64_t index) {
  return static_cast<std::int64_t>(little_endian(tensor.bytes, static_cast<std::size_t>(index) * 8, 8));
}

std::vector<std::int64_t> extents_in(const StoredTensor& tensor) {
  if (tensor.dtype != "I64" || tensor.bytes.size() != 16) return {unknown_extent, unknown_extent};
  return {integer_at(tensor, 0), integer_at(tensor, 1)};
}

void check_extents(const StoredTensor& tensor) {
  if (tensor.dtype != "I64" || tensor.bytes.size() != 16)
    refuse_tensor(tensor, tensor.dtype + " " + text_of_shape(tensor.shape), "I64 [2]");
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
  matrix.shape = shape;
  matrix.rows = rows();
  matrix.columns = columns();
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
