#include <fmt/format.h>
#include <weft/formats/io/choose.h>
#include <weft/formats/io/file.h>
#include <weft/formats/io/safetensors.h>
#include <weft/formats/io/split_weight.h>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

namespace weft::io {
namespace {

std::string place_of(const StoredTensor& tensor, std::int64_t index, DType dtype) {
  return fmt::format("tensor {}, element {}, byte {}", in_quotes(tensor.name),
                     text_of_position(index, tensor.shape),
                     tensor.offset + static_cast<std::size_t>(index) * size_of(dtype));
}

WeightMatrix dense_weights(const StoredTensor& tensor, std::optional<DType> reinterpret_as) {
  check_weight_shape(tensor.shape, tensor.bytes.size(), tensor.origin, "tensor " + in_quotes(tensor.name));
  const Array array = array_of(tensor, reinterpret_as);
  check_finite(array, tensor.origin, [&](std::int64_t i) { return place_of(tensor, i, array.dtype()); });
  return from_dense(array, tensor.origin + ":" + tensor.name);
}

}  // namespace

Array array_of(const StoredTensor& tensor, std::optional<DType> reinterpret_as) {
  static_assert(std::endian::native == std::endian::little,
                "the file is little-endian and is copied as it is");
  const auto known = std::ranges::find(stored_types(), tensor.dtype, &StoredType::name);
  if (known == stored_types().end() || !known->dtype)
    refuse_tensor(tensor, "elements of " + tensor.dtype, "F64, F32, F16, BF16, or an integer type");
  Array array(reinterpreted(*known->dtype, reinterpret_as, tensor.origin), tensor.shape);
  std::ranges::copy(tensor.bytes, array.data());
  check_booleans(array, tensor.origin, [&](std::int64_t i) { return place_of(tensor, i, array.dtype()); });
  return array;
}

WeightMatrix weights_among(std::span<const StoredTensor> tensors, const std::string& origin,
                           const ReadOptions& options) {
  std::vector<SplitWeight> split = compressed_tensors_among(tensors);
  std::ranges::move(semi_structured_among(tensors), std::back_inserter(split));
  std::set<const StoredTensor*> parts;
  for (const SplitWeight& weight : split) parts.insert(weight.parts.begin(), weight.parts.end());
  std::vector<Candidate> candidates;
  std::vector<std::function<WeightMatrix()>> readers;
  for (const StoredTensor& tensor : tensors) {
    if (parts.contains(&tensor)) continue;
    candidates.push_back({tensor.name, tensor.dtype, tensor.shape});
    readers.emplace_back([&] { return dense_weights(tensor, options.reinterpret_as); });
  }
  for (const SplitWeight& weight : split) {
    candidates.push_back({weight.name, weight.values().dtype, {weight.rows, weight.columns}});
    readers.emplace_back([&] { return weight.read(weight, options.reinterpret_as); });
  }
  return readers[choose(candidates, options.tensor, Wanted::weight, origin)]();
}

Array array_among(std::span<const StoredTensor> tensors, const std::string& origin,
                  const ReadOptions& options) {
  std::vector<Candidate> candidates;
  for (const StoredTensor& tensor : tensors) candidates.push_back({tensor.name, tensor.dtype, tensor.shape});
  return array_of(tensors[choose(candidates, options.tensor, Wanted::any_array, origin)],
                  options.reinterpret_as);
}

}  // namespace weft::io

namespace weft {
namespace {

std::string_view name_in_file(DType dtype) {
  const auto found = std::ranges::find(io::stored_types(), std::optional(dtype), &io::StoredType::dtype);
  internal_check(found != io::stored_types().end(), "an element type without a name in .safetensors");
  return found->name;
}

void check_names(const std::string& path, const std::vector<std::pair<std::string, Array>>& tensors) {
  std::set<std::string_view> names;
  for (const auto& [name, array] : tensors) {
    if (name != "__metadata__" && names.insert(name).second) continue;
    throw UserError("cannot write " + path, "a tensor named " + io::in_quotes(name),
                    "every name once, and none called __metadata__");
  }
}

}  // namespace

void write_safetensors(const std::string& path, const std::vector<std::pair<std::string, Array>>& tensors,
                       const std::map<std::string, std::string>& metadata, CallPlace place) {
  user_call(place, [&] {
    check_names(path, tensors);
    std::vector<const std::pair<std::string, Array>*> order;
    for (const auto& tensor : tensors) order.push_back(&tensor);
    std::ranges::sort(order, [](auto* a, auto* b) {
      const std::size_t first = size_of(a->second.dtype());
      const std::size_t second = size_of(b->second.dtype());
      return first != second ? first > second : a->first < b->first;
    });
    nlohmann::ordered_json header = nlohmann::ordered_json::object();
    if (!metadata.empty()) header["__metadata__"] = metadata;
    std::size_t end = 0;
    for (const auto* tensor : order) {
      const auto& [name, array] = *tensor;
      header[name] = {{"dtype", name_in_file(array.dtype())},
                      {"shape", array.shape()},
                      {"data_offsets", {end, end + array.bytes()}}};
      end += array.bytes();
    }
    std::string text;
    try {
      text = header.dump();
    } catch (const nlohmann::json::type_error&) {
      throw UserError("cannot write " + path, "a name or metadata that is not UTF-8", "UTF-8 text");
    }
    text.append((8 - text.size() % 8) % 8, ' ');
    const std::uint64_t length = text.size();
    std::vector<io::Bytes> pieces{std::as_bytes(std::span(&length, 1)), std::as_bytes(std::span(text))};
    for (const auto* tensor : order) pieces.emplace_back(tensor->second.data(), tensor->second.bytes());
    io::write_file(path, pieces);
  });
}

}  // namespace weft
