#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/formats/io/read.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/search/choice/formats_worth_trying.h>
#include <weft/search/measure/structured_weights.h>
#include <weft/search/network/layer_kind.h>
#include <weft/search/network/layer_problem.h>
#include <weft/search/network/model_config.h>
#include <weft/search/network/network.h>
#include <weft/search/network/network_file.h>
#include <weft/search/network/onnx_layers.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>

namespace weft {
namespace {

namespace fs = std::filesystem;

/// Fewer zeros come with training, not with pruning; nothing is gained by them.
constexpr double hardly_pruned = 0.3;

/// The network file of a path: itself, or the one in its folder.
std::optional<std::string> network_file_at(const std::string& path) {
  std::error_code none;
  if (!fs::is_directory(path, none)) {
    const bool may_be = path.ends_with(".json") && !path.ends_with(".safetensors.index.json");
    return may_be ? std::optional(path) : std::nullopt;
  }
  const fs::path inside = fs::path(path) / "network.json";
  return fs::is_regular_file(inside, none) ? std::optional(inside.string()) : std::nullopt;
}

void leave_out_hardly_pruned(NetworkLayer& layer, std::int64_t zeros, std::int64_t elements) {
  const double share = elements > 0 ? static_cast<double>(zeros) / static_cast<double>(elements) : 0;
  if (share >= hardly_pruned) return;
  layer.left_out = fmt::format("{:.1f} % of its weights are zero: it stays dense", 100 * share);
}

/// Types of a byte in the spelling of .safetensors.
constexpr std::array<std::string_view, 3> names_of_bytes{"F8_E4M3", "F8_E5M2", "I8"};

/// Which kernel's format the weights are in is found with a few passes over the entries.
LayerWeights found_in(const WeightMatrix& matrix) {
  LayerWeights found;
  found.elements = matrix.rows * matrix.columns;
  found.zeros = found.elements - matrix.stored();
  found.dtype = matrix.values.dtype();
  found.dense_bytes = static_cast<std::uint64_t>(found.elements) * size_of(found.dtype);
  found.format = formats_worth_trying(matrix).front();
  found.packed_bytes = pack(matrix, found.format).bytes();
  found.note = matrix.note;
  if (!matrix.row_scale.empty()) {
    const auto [least, most] = std::ranges::minmax(matrix.row_scale);
    found.scales = {least, most};
  }
  return found;
}

/// What a layer of a byte lacks for a kernel in a network, where activations come in wider types.
std::string why_not_of_a_byte(const NetworkLayer& layer, const WeightMatrix& matrix) {
  const DType dtype = matrix.values.dtype();
  if (!is_factor_of_a_byte(dtype)) return {};
  if (layer.kind == LayerKind::convolution)
    return fmt::format("a convolution of {}: of elements of a byte linear layers alone are taken",
                       name_of(dtype));
  if (!matrix.row_scale.empty()) return {};
  const std::string name = layer.weight.tensor.empty() ? "weight" : layer.weight.tensor;
  return fmt::format(
      "elements of {} without a scale: a tensor {}_scale, [1] or one for each row, says what they stand for",
      name_of(dtype), name);
}

void look_at(NetworkLayer& layer) {
  // Dense layers, most of what is large, are seen by one pass over their bytes.
  if (const auto seen = survey(layer.weight)) {
    leave_out_hardly_pruned(layer, seen->zeros, seen->elements);
    if (!layer.is_candidate() && !seen->first_not_finite) {
      layer.found =
          LayerWeights{.elements = seen->elements, .zeros = seen->zeros, .dense_bytes = layer.weight.bytes};
      return;
    }
  }
  const WeightMatrix matrix = weights_of(layer);
  if (layer.weight.shape.empty()) layer.weight.shape = matrix.shape;
  layer.found = found_in(matrix);
  layer.left_out = why_not_of_a_byte(layer, matrix);
  if (layer.is_candidate()) leave_out_hardly_pruned(layer, layer.found->zeros, layer.found->elements);
}

WeightMatrix transpose_of(const WeightMatrix& matrix) {
  std::vector<std::int64_t> row, column;
  for (std::int64_t r = 0; r < matrix.rows; ++r) {
    for (std::int64_t i = matrix.row_begin[static_cast<std::size_t>(r)];
         i < matrix.row_begin[static_cast<std::size_t>(r) + 1]; ++i) {
      row.push_back(matrix.column[static_cast<std::size_t>(i)]);
      column.push_back(r);
    }
  }
  return from_coordinates(matrix.columns, matrix.rows, row, column, matrix.values, matrix.origin);
}

/// A layer whose weights cannot be read is left out, and the others are read.
void inspect_layer(NetworkLayer& layer) {
  const std::string dtype = layer.weight.dtype;
  const bool is_of_a_byte = std::ranges::find(names_of_bytes, dtype) != names_of_bytes.end();
  if (!is_of_a_byte &&
      (dtype.starts_with("F8") || dtype.starts_with("I") || dtype.starts_with("U") || dtype == "BOOL")) {
    layer.left_out = fmt::format("elements of {}: floating-point weights are taken, and {} with a scale",
                                 dtype, fmt::join(names_of_bytes, ", "));
    return;
  }
  const std::string fault = io::fault_of(layer.weight.path, [&] { look_at(layer); });
  if (fault.empty()) return;
  layer.left_out = fault;
  layer.broken = true;
}

/// The file that all weights are of, where that has a graph; which way its weights lie is not told by their
/// shapes.
std::string only_model_of_onnx(const std::vector<ListedWeight>& weights) {
  const auto is_of_it = [&](const ListedWeight& weight) {
    return weight.path == weights.front().path && weight.path.ends_with(".onnx") && !weight.tensor.empty();
  };
  return !weights.empty() && std::ranges::all_of(weights, is_of_it) ? weights.front().path : std::string();
}

[[noreturn]] void refuse_missing_weights(const std::string& path, const std::string& weights) {
  const fs::path usual = fs::path(path).parent_path() / "model.safetensors";
  throw UserError(
      "the weights of a network file are not there", path + ", \"weights\"", weights + ": no such file",
      fs::exists(usual) ? "\"model.safetensors\", which lies beside it" : "a file or a folder of weights");
}

}  // namespace

Network Network::read(const std::string& path, CallPlace place) {
  return user_call(place, [&] {
    Network network;
    network.path_ = path;
    if (const auto file_path = network_file_at(path)) {
      const NetworkFile file = network_file_of(*file_path);
      if (!fs::exists(file.weights)) refuse_missing_weights(*file_path, file.weights);
      const std::vector<ListedWeight> weights = list_weights(file.weights);
      network.layers_ = layers_of(file, weights);
      network.other_tensors_ = weights.size() - std::min(weights.size(), network.layers_.size());
      return network;
    }
    const std::vector<ListedWeight> weights = list_weights(path);
    // Of one file that nobody can read there is nothing to leave out: the reader says why.
    if (weights.size() == 1 && weights.front().path == path && !weights.front().fault.empty())
      weft::read(path);
    network.other_tensors_ =
        static_cast<std::size_t>(std::ranges::count_if(weights, std::not_fn(may_be_layer)));
    if (const std::string model = only_model_of_onnx(weights); !model.empty()) {
      network.layers_ = layers_of_onnx(model, weights);
      return network;
    }
    for (const ListedWeight& weight : weights) {
      if (may_be_layer(weight)) network.layers_.push_back(layer_of(weight, path));
    }
    std::error_code none;
    if (fs::is_directory(path, none)) follow(model_config_of(path), network.layers_);
    return network;
  });
}

bool Network::inspect(const InspectHooks& hooks) {
  std::size_t number = 0;
  for (NetworkLayer& layer : layers_) {
    if (hooks.stop()) return false;
    ++number;
    if (!layer.is_candidate() || layer.found) continue;
    if (hooks.progress) hooks.progress(number, layers_.size(), layer);
    inspect_layer(layer);
  }
  return true;
}

WeightMatrix weights_of(const NetworkLayer& layer, CallPlace place) {
  return user_call(place, [&] {
    WeightMatrix matrix = weft::read(layer.weight.path, {.tensor = layer.weight.tensor});
    if (layer.transposed) matrix = transpose_of(matrix);
    if (matrix.pattern_only) return with_random_values(matrix, DType::f32, 1);
    if (!is_factor(matrix.values.dtype()))
      throw UserError("weights of that type are not multiplied with", matrix.origin,
                      fmt::format("elements of {}", name_of(matrix.values.dtype())),
                      "f16, bf16, f32, f64, e4m3, e5m2 or i8");
    return matrix;
  });
}

WeightMatrix weights_of_kernel(const NetworkLayer& layer, CallPlace place) {
  WeightMatrix matrix = weights_of(layer, place);
  return layer.image_groups > 1 ? across_groups(std::move(matrix), layer.image_groups) : matrix;
}

}  // namespace weft
