#include <fmt/format.h>
#include <weft/formats/io/split_weight.h>

#include <cstring>
#include <string_view>

namespace weft::io {
namespace {

void check_masked_parts(const SplitWeight& weight) {
  check_shape(weight.values());
  if (weight.parts[1] == nullptr)
    refuse_tensor(
        weight.values(), "a weight before it was pruned, and no mask beside it",
        fmt::format("{}_mask in the same file, or the pruned weight as {}", weight.name, weight.name));
  const StoredTensor& mask = *weight.parts[1];
  expect(mask, mask.dtype, weight.shape);
  element_type_of(mask);
}

/// Makes zero what the mask does not keep, so that what stands there has no say.
void apply(const StoredTensor& mask, Array& values) {
  const Array kept = array_of(mask);
  const std::size_t width = size_of(values.dtype());
  for (std::int64_t i = 0; i < kept.size(); ++i) {
    const double element = kept.get(i);
    if (element == 0) {
      std::memset(values.data() + static_cast<std::size_t>(i) * width, 0, width);
    } else if (element != 1) {
      refuse(mask.origin, place_of(mask, i, kept.dtype()), fmt::format("{} in a mask", element), "0 or 1");
    }
  }
}

WeightMatrix masked(const SplitWeight& weight, std::optional<DType> reinterpret_as) {
  const StoredTensor& stored = weight.values();
  Array values = array_of(stored, reinterpret_as);
  apply(*weight.parts[1], values);
  check_finite(values, stored.origin, [&](std::int64_t i) { return place_of(stored, i, values.dtype()); });
  return from_dense(values, stored.origin + ":" + weight.name);
}

}  // namespace

std::vector<SplitWeight> masked_weights_among(std::span<const StoredTensor> tensors) {
  const auto find = finder(tensors);
  constexpr std::string_view suffix = "_orig";
  std::vector<SplitWeight> result;
  for (const StoredTensor& tensor : tensors) {
    if (!tensor.name.ends_with(suffix)) continue;
    const std::string name = tensor.name.substr(0, tensor.name.size() - suffix.size());
    const StoredTensor* mask = find(name + "_mask");
    if (name.empty() || find(name) != nullptr) continue;
    result.push_back({name, "masked", tensor.shape, {&tensor, mask}, check_masked_parts, masked});
  }
  return result;
}

}  // namespace weft::io
