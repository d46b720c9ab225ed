#include <fmt/format.h>
#include <weft/formats/io/choose.h>
#include <weft/formats/io/file.h>
#include <weft/formats/io/pruned_for.h>
#include <weft/formats/io/safetensors.h>
#include <weft/formats/io/split_weight.h>
#include <weft/formats/quantized.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace weft::io {
namespace {

WeightMatrix dense_weights(const StoredTensor& tensor, std::optional<DType> reinterpret_as) {
  check_shape(tensor);
  const Array array = array_of(tensor, reinterpret_as);
  check_finite(array, tensor.origin, [&](std::int64_t i) { return place_of(tensor, i, array.dtype()); });
  return from_dense(array, tensor.origin + ":" + tensor.name);
}

/// Behind a weight's name, that of its scale: "fc1.weight_scale", as compressed-tensors and vLLM write it.
constexpr std::string_view behind_scaled = "_scale";
/// What was taken for zero before the weights were rounded, where that may be another number than 0.
constexpr std::string_view behind_shifted = "_zero_point";

bool is_of_a_byte(const StoredTensor& tensor) {
  const auto known = std::ranges::find(stored_types(), tensor.dtype, &StoredType::name);
  return known != stored_types().end() && known->dtype && is_factor_of_a_byte(*known->dtype);
}

/// The tensors that are weights as they stand, and those that only together with others are.
struct FoundWeights {
  std::vector<const StoredTensor*> dense;
  std::vector<SplitWeight> split;
  using ByWeight = std::map<std::string, const StoredTensor*>;
  ByWeight scales;       ///< weights of a byte have them, by the names of these
  ByWeight zero_points;  ///< likewise

  explicit FoundWeights(std::span<const StoredTensor> tensors) : split(split_weights_among(tensors)) {
    std::set<const StoredTensor*> parts;
    std::set<std::string> scaled;
    for (const SplitWeight& weight : split) {
      parts.insert(weight.parts.begin(), weight.parts.end());
      if (is_of_a_byte(weight.values())) scaled.insert(weight.name);
    }
    for (const StoredTensor& tensor : tensors) {
      if (!parts.contains(&tensor) && is_of_a_byte(tensor)) scaled.insert(tensor.name);
    }
    for (const StoredTensor& tensor : tensors) {
      if (parts.contains(&tensor)) continue;
      const auto is_kept = [&](std::string_view behind, ByWeight& kept) {
        if (!tensor.name.ends_with(behind)) return false;
        const std::string before = tensor.name.substr(0, tensor.name.size() - behind.size());
        return scaled.contains(before) && kept.emplace(before, &tensor).second;
      };
      if (!is_kept(behind_scaled, scales) && !is_kept(behind_shifted, zero_points)) dense.push_back(&tensor);
    }
  }

  /// Where zeros of the weight are none, nothing is gained by leaving them out.
  void refuse_shifted(const std::string& name) const {
    const auto found = zero_points.find(name);
    if (found == zero_points.end()) return;
    const Array points = array_of(*found->second);
    for (std::int64_t i = 0; i < points.size(); ++i) {
      if (points.get(i) != 0)
        refuse_tensor(*found->second, fmt::format("a zero point of {}", points.get(i)),
                      "0 everywhere, as weights have that are rounded symmetrically");
    }
  }

  /// The weight of that name with its scale, if it has one.
  WeightMatrix with_scale(WeightMatrix weights, const std::string& name) const {
    refuse_shifted(name);
    const auto found = scales.find(name);
    if (found == scales.end()) return weights;
    const StoredTensor& tensor = *found->second;
    const Array scale = array_of(tensor);
    if (!is_float(scale.dtype()))
      refuse_tensor(tensor, "a scale of " + tensor.dtype, "F32, F16, BF16 or F64");
    check_finite(scale, tensor.origin, [&](std::int64_t i) { return place_of(tensor, i, scale.dtype()); });
    const auto scales_read = scales_of_rows(scale, weights.rows);
    if (!scales_read)
      refuse_tensor(
          tensor,
          fmt::format("a scale of {} for weights of {} rows", text_of_shape(tensor.shape), weights.rows),
          shapes_of_scales(weights.rows));
    weights.row_scale = *scales_read;
    return weights;
  }
};

ListedWeight listed(const StoredTensor& tensor, const std::string& path) {
  return {.path = path,
          .tensor = tensor.name,
          .dtype = tensor.dtype,
          .shape = tensor.shape,
          .stored_as = "dense",
          .bytes = tensor.bytes.size(),
          .fault = fault_of(tensor.origin, [&] {
            element_type_of(tensor);
            if (!tensor.shape.empty()) check_shape(tensor);
          })};
}

ListedWeight listed(const SplitWeight& weight, const std::string& path) {
  ListedWeight result{.path = path,
                      .tensor = weight.name,
                      .dtype = weight.values().dtype,
                      .stored_as = std::string(weight.stored_as),
                      .fault = fault_of(weight.values().origin, [&] {
                        element_type_of(weight.values());
                        weight.check(weight);
                      })};
  const bool is_known = std::ranges::find(weight.shape, unknown_extent) == weight.shape.end();
  if (is_known) result.shape = weight.shape;
  for (const StoredTensor* part : weight.parts) result.bytes += part == nullptr ? 0 : part->bytes.size();
  return result;
}

}  // namespace

DType element_type_of(const StoredTensor& tensor) {
  const auto known = std::ranges::find(stored_types(), tensor.dtype, &StoredType::name);
  if (known == stored_types().end() || !known->dtype)
    refuse_tensor(tensor, "elements of " + tensor.dtype,
                  "F64, F32, F16, BF16, F8_E4M3, F8_E5M2, or an integer type");
  return *known->dtype;
}

Array array_of(const StoredTensor& tensor, std::optional<DType> reinterpret_as) {
  static_assert(std::endian::native == std::endian::little,
                "the file is little-endian and is copied as it is");
  Array array(reinterpreted(element_type_of(tensor), reinterpret_as, tensor.origin), tensor.shape);
  std::ranges::copy(tensor.bytes, array.data());
  check_booleans(array, tensor.origin, [&](std::int64_t i) { return place_of(tensor, i, array.dtype()); });
  return array;
}

WeightMatrix weights_among(std::span<const StoredTensor> tensors, const std::string& origin,
                           const ReadOptions& options) {
  FoundWeights found(tensors);
  for (FoundWeights::ByWeight* beside : {&found.scales, &found.zero_points}) {
    std::erase_if(*beside, [&](const auto& one) {
      const bool is_asked_for = one.second->name == options.tensor;
      if (is_asked_for) found.dense.push_back(one.second);
      return is_asked_for;
    });
  }
  std::vector<Candidate> candidates;
  for (const StoredTensor* tensor : found.dense)
    candidates.push_back({tensor->name, tensor->dtype, tensor->shape});
  for (const SplitWeight& weight : found.split)
    candidates.push_back({weight.name, weight.values().dtype, weight.shape});
  const std::size_t index = choose(candidates, options.tensor, Wanted::weight, origin);
  const auto with_said = [&](WeightMatrix weights, const StoredTensor& tensor) {
    const std::string& name = candidates[index].name;
    if (!options.reinterpret_as) weights = found.with_scale(std::move(weights), name);
    if (tensor.metadata == nullptr) return weights;  // no tensor of such a file
    return with_metadata(std::move(weights), *tensor.metadata, name);
  };
  if (index < found.dense.size())
    return with_said(dense_weights(*found.dense[index], options.reinterpret_as), *found.dense[index]);
  const SplitWeight& weight = found.split[index - found.dense.size()];
  weight.check(weight);
  return with_said(weight.read(weight, options.reinterpret_as), weight.values());
}

std::vector<ListedWeight> list_among(std::span<const StoredTensor> tensors, const std::string& path) {
  const FoundWeights found(tensors);
  std::map<const StoredTensor*, ListedWeight> by_place;
  for (const StoredTensor* tensor : found.dense) by_place.emplace(tensor, listed(*tensor, path));
  for (const SplitWeight& weight : found.split) by_place.emplace(&weight.values(), listed(weight, path));
  for (const FoundWeights::ByWeight& beside : {found.scales, found.zero_points}) {
    for (const auto& [name, tensor] : beside)
      by_place.emplace(tensor, listed(*tensor, path)).first->second.stored_as = "scale";
  }
  std::vector<ListedWeight> weights;
  for (auto& [place, weight] : by_place) weights.push_back(std::move(weight));
  return weights;
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
