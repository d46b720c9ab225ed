#include <fmt/format.h>
#include <weft/formats/io/choose.h>
#include <weft/formats/io/file.h>
#include <weft/formats/io/onnx.h>
#include <weft/search/network/layer_kind.h>
#include <weft/search/network/onnx_layers.h>
#include <weft/search/network/onnx_shapes.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

namespace weft {
namespace {

using io::OnnxNode;
using io::unknown_extent;

class Layers {
 public:
  Layers(const io::OnnxModel& model, const std::vector<ListedWeight>& weights)
      : model_(model), weights_(weights), shapes_(shapes_of(model)) {
    for (const OnnxNode& node : model.nodes) {
      for (const std::string& input : node.inputs) readers_[input].push_back(&node);
    }
  }

  std::vector<NetworkLayer> run() {
    for (const OnnxNode& node : model_.nodes) {
      if (node.inputs.size() < 2 || (node.op != "Conv" && node.op != "Gemm" && node.op != "MatMul")) continue;
      const ListedWeight* weight = weight_named(node.inputs[1]);
      if (weight == nullptr) continue;  // two values that are multiplied, as attention does
      add(node, *weight);
      used_.insert(weight->tensor);
    }
    for (const ListedWeight& weight : weights_) {
      if (used_.contains(weight.tensor) || !may_be_layer(weight)) continue;
      NetworkLayer layer = weft::layer_of(weight, {});
      if (layer.left_out.empty()) layer.left_out = "no Conv, Gemm or MatMul multiplies by it";
      layers_.push_back(std::move(layer));
    }
    return std::move(layers_);
  }

 private:
  const ListedWeight* weight_named(const std::string& name) const {
    const auto found = std::ranges::find(weights_, name, &ListedWeight::tensor);
    return found == weights_.end() || found->tensor.empty() ? nullptr : &*found;
  }

  OnnxShape shape_of(const std::string& value) const {
    const auto found = shapes_.find(value);
    return found == shapes_.end() ? OnnxShape() : found->second;
  }

  /// What nodes that share their weight and all else compute is one layer that runs more often.
  void add(const OnnxNode& node, const ListedWeight& weight) {
    NetworkLayer layer = layer_of_node(node, weight);
    const auto is_alike = [&](const auto& known) {
      return known.first->op == node.op && known.first->inputs[1] == node.inputs[1] &&
             known.first->integers == node.integers && known.first->factors == node.factors &&
             known.first->words == node.words && layers_[known.second].bias == layer.bias &&
             shape_of(known.first->inputs[0]) == shape_of(node.inputs[0]);
    };
    const auto known = std::ranges::find_if(nodes_, is_alike);
    if (known != nodes_.end()) {
      ++layers_[known->second].calls;
      return;
    }
    nodes_.emplace_back(&node, layers_.size());
    layer.name = name_of_layer(node, weight);
    layers_.push_back(std::move(layer));
  }

  /// The tensor's name without ".weight", unless another layer has it.
  std::string name_of_layer(const OnnxNode& node, const ListedWeight& weight) {
    const NetworkLayer named = weft::layer_of(weight, {});
    for (const std::string& name : {named.name, node.name}) {
      if (!name.empty() && names_.insert(name).second) return name;
    }
    std::string name;
    for (int number = 2; name.empty() || !names_.insert(name).second; ++number)
      name = fmt::format("{}.{}", named.name, number);
    return name;
  }

  NetworkLayer layer_of_node(const OnnxNode& node, const ListedWeight& weight) const {
    NetworkLayer layer;
    layer.weight = weight;
    layer.left_out = weight.fault;
    layer.broken = !weight.fault.empty();
    if (node.op == "Conv")
      read_convolution(node, layer);
    else
      read_product(node, layer);
    return layer;
  }

  void leave_out(NetworkLayer& layer, const std::string& why) const {
    if (layer.left_out.empty()) layer.left_out = why;
  }

  /// A vector with an element for each row of the weight.
  std::string bias_of(const std::string& name, const NetworkLayer& layer) const {
    const ListedWeight* listed = weight_named(name);
    const bool fits = listed != nullptr && listed->shape == OnnxShape{layer.weight.shape.front()};
    return fits ? name : std::string();
  }

  void read_convolution(const OnnxNode& node, NetworkLayer& layer) const {
    layer.kind = LayerKind::convolution;
    layer.image_groups = node.integer("group", 1);
    const OnnxShape filter = layer.weight.shape, image = shape_of(node.inputs[0]);
    if (filter.size() != 4)
      return leave_out(layer, fmt::format("a convolution of {} dimensions, not of two", filter.size() - 2));
    if (node.inputs.size() > 2) {
      layer.bias = bias_of(node.inputs[2], layer);
      if (layer.bias.empty() && !node.inputs[2].empty())
        leave_out(layer, "its bias is no tensor of the file");
    }
    const auto window = window_of(node, filter, image);
    if (!window) return;
    if (window->pad != window->pad_behind)
      return leave_out(layer, "its image is not padded alike on both sides");
    if (image.size() != 4 || image[2] == unknown_extent || image[3] == unknown_extent) return;
    Convolution c;
    c.batch = image[0] == unknown_extent ? 1 : image[0];
    c.channels = filter[1] * layer.image_groups;
    c.filters = filter[0];
    c.filter = window->filter;
    c.image = {image[2], image[3]};
    c.pad = window->pad;
    c.stride = window->stride;
    c.dilation = window->dilation;
    const std::string fault = io::fault_of(layer.weight.path, [&] { c.output(); });
    if (!fault.empty()) return leave_out(layer, fault);
    layer.convolution = c;
  }

  void read_product(const OnnxNode& node, NetworkLayer& layer) const {
    layer.kind = LayerKind::linear;
    OnnxShape& shape = layer.weight.shape;
    if (shape.size() != 2) return leave_out(layer, fmt::format("a weight of {} dimensions", shape.size()));
    layer.transposed = node.op == "MatMul" || node.integer("transB", 0) == 0;
    if (layer.transposed) std::ranges::reverse(shape);
    if (node.integer("transA", 0) != 0) return leave_out(layer, "its input is transposed (transA)");
    if (node.factor("alpha", 1) != 1 || node.factor("beta", 1) != 1)
      return leave_out(layer, "its sum or its bias is scaled (alpha, beta)");
    read_bias(node, layer);
    std::int64_t rows = 1;
    const OnnxShape input = shape_of(node.inputs[0]);
    for (std::size_t i = 0; i + 1 < input.size(); ++i) {
      if (input[i] == unknown_extent || __builtin_mul_overflow(rows, input[i], &rows)) return;
    }
    if (!input.empty() && rows > 0) layer.n = rows;
  }

  /// The third input of a Gemm; behind a MatMul what an Add alone adds to it.
  void read_bias(const OnnxNode& node, NetworkLayer& layer) const {
    if (node.op == "Gemm") {
      if (node.inputs.size() < 3 || node.inputs[2].empty()) return;
      layer.bias = bias_of(node.inputs[2], layer);
      if (layer.bias.empty()) leave_out(layer, "its bias is no vector with an element a row");
      return;
    }
    const auto readers = node.outputs.empty() ? readers_.end() : readers_.find(node.outputs.front());
    if (readers == readers_.end() || readers->second.size() != 1 || model_.outputs.contains(readers->first))
      return;
    const OnnxNode& next = *readers->second.front();
    if (next.op != "Add" || next.inputs.size() != 2) return;
    layer.bias = bias_of(next.inputs[next.inputs[0] == node.outputs.front() ? 1 : 0], layer);
  }

  const io::OnnxModel& model_;
  const std::vector<ListedWeight>& weights_;
  OnnxShapes shapes_;
  std::map<std::string, std::vector<const OnnxNode*>> readers_;
  std::vector<std::pair<const OnnxNode*, std::size_t>> nodes_;  ///< and the number of their layer
  std::set<std::string> names_, used_;
  std::vector<NetworkLayer> layers_;
};

}  // namespace

std::vector<NetworkLayer> layers_of_onnx(const std::string& path, const std::vector<ListedWeight>& weights) {
  const io::File file(path);
  return Layers(io::parse_onnx(file.bytes(), path), weights).run();
}

}  // namespace weft
