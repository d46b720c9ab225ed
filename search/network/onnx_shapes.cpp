#include <weft/dsl/arithmetic.h>
#include <weft/formats/io/choose.h>
#include <weft/search/network/onnx_shapes.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace weft {
namespace {

using io::OnnxNode;
using io::unknown_extent;

/// Their result has the shape of the first input.
const std::set<std::string_view> same_as_input{"Relu",
                                               "LeakyRelu",
                                               "Sigmoid",
                                               "Tanh",
                                               "Clip",
                                               "Elu",
                                               "HardSigmoid",
                                               "HardSwish",
                                               "Gelu",
                                               "Selu",
                                               "Softplus",
                                               "Erf",
                                               "Exp",
                                               "Sqrt",
                                               "Neg",
                                               "Abs",
                                               "PRelu",
                                               "Softmax",
                                               "LogSoftmax",
                                               "Cast",
                                               "Dropout",
                                               "Identity",
                                               "Mish",
                                               "BatchNormalization",
                                               "Pow",
                                               "LRN",
                                               "Reciprocal",
                                               "LayerNormalization",
                                               "InstanceNormalization",
                                               "GroupNormalization"};
const std::set<std::string_view> broadcast{"Add", "Sub", "Mul", "Div", "Max", "Min"};

/// The numbers of an attribute, or the usual one for each.
std::array<std::int64_t, 2> pair_in(const OnnxNode& node, const char* attribute, std::int64_t usual) {
  const auto found = node.integers.find(attribute);
  if (found == node.integers.end() || found->second.size() < 2) return {usual, usual};
  return {found->second[0], found->second[1]};
}

std::int64_t windows_in(std::int64_t image, const OnnxWindow& window, std::size_t axis, bool round_up) {
  if (image == unknown_extent || window.stride[axis] < 1) return unknown_extent;
  const std::int64_t reach = window.dilation[axis] * (window.filter[axis] - 1) + 1;
  const std::int64_t room = image + window.pad[axis] + window.pad_behind[axis] - reach;
  if (room < 0) return unknown_extent;
  return (round_up ? ceil_divide(room, window.stride[axis]) : room / window.stride[axis]) + 1;
}

class Shapes {
 public:
  explicit Shapes(const io::OnnxModel& model) : model_(model), shapes_(model.shapes) {
    for (const io::StoredTensor& tensor : model.tensors) shapes_[tensor.name] = tensor.shape;
    for (const io::OnnxSparseTensor& tensor : model.sparse) shapes_[tensor.values.name] = tensor.shape;
  }

  OnnxShapes run() {
    for (const OnnxNode& node : model_.nodes) {
      if (node.outputs.empty() || shapes_.contains(node.outputs.front())) continue;
      if (const auto shape = shape_of(node)) shapes_[node.outputs.front()] = *shape;
    }
    return std::move(shapes_);
  }

 private:
  std::optional<OnnxShape> input(const OnnxNode& node, std::size_t number) const {
    if (number >= node.inputs.size()) return std::nullopt;
    const auto found = shapes_.find(node.inputs[number]);
    return found == shapes_.end() ? std::nullopt : std::optional(found->second);
  }

  std::optional<OnnxShape> shape_of(const OnnxNode& node) const {
    const auto first = input(node, 0), second = input(node, 1);
    if (same_as_input.contains(node.op)) return first;
    if (broadcast.contains(node.op)) return joined(first, second);
    if (node.op == "Conv" && first && second) return windows(node, *first, *second, second->front());
    if ((node.op == "MaxPool" || node.op == "AveragePool") && first && first->size() == 4) {
      const auto filter = pair_in(node, "kernel_shape", 1);
      return windows(node, *first, {1, 1, filter[0], filter[1]}, first->at(1));
    }
    if (node.op == "GlobalAveragePool" && first && first->size() == 4)
      return OnnxShape{first->at(0), first->at(1), 1, 1};
    if (node.op == "Flatten" && first) return flattened(*first, node.integer("axis", 1));
    if (node.op == "MatMul" && first && second && !first->empty() && second->size() == 2) {
      OnnxShape shape = *first;
      shape.back() = second->back();
      return shape;
    }
    if (node.op == "Gemm" && first && second && first->size() == 2 && second->size() == 2)
      return OnnxShape{first->at(node.integer("transA", 0) != 0 ? 1 : 0),
                       second->at(node.integer("transB", 0) != 0 ? 0 : 1)};
    return std::nullopt;
  }

  static std::optional<OnnxShape> windows(const OnnxNode& node, const OnnxShape& image,
                                          const OnnxShape& filter, std::int64_t channels) {
    if (image.size() != 4) return std::nullopt;
    const auto window = window_of(node, filter, image);
    if (!window) return std::nullopt;
    const bool round_up = node.integer("ceil_mode", 0) != 0;
    return OnnxShape{image[0], channels, windows_in(image[2], *window, 0, round_up),
                     windows_in(image[3], *window, 1, round_up)};
  }

  /// Of two values that are joined element by element, the smaller one repeated.
  static std::optional<OnnxShape> joined(const std::optional<OnnxShape>& left,
                                         const std::optional<OnnxShape>& right) {
    if (!left || !right) return std::nullopt;
    OnnxShape shape = left->size() < right->size() ? *right : *left;
    const OnnxShape& other = left->size() < right->size() ? *left : *right;
    const std::size_t more = shape.size() - other.size();
    for (std::size_t i = 0; i < other.size(); ++i) {
      if (shape[more + i] == 1) shape[more + i] = other[i];
    }
    return shape;
  }

  static OnnxShape flattened(const OnnxShape& shape, std::int64_t axis) {
    const auto size = static_cast<std::int64_t>(shape.size());
    const std::int64_t begin = std::clamp<std::int64_t>(axis < 0 ? axis + size : axis, 0, size);
    OnnxShape result{1, 1};
    for (std::int64_t i = 0; i < size; ++i) {
      std::int64_t& part = result[i < begin ? 0 : 1];
      const std::int64_t extent = shape[static_cast<std::size_t>(i)];
      if (extent == unknown_extent || __builtin_mul_overflow(part, extent, &part)) part = unknown_extent;
      if (part == unknown_extent) break;
    }
    return result;
  }

  const io::OnnxModel& model_;
  OnnxShapes shapes_;
};

}  // namespace

std::optional<OnnxWindow> window_of(const OnnxNode& node, const OnnxShape& filter, const OnnxShape& image) {
  if (filter.size() != 4) return std::nullopt;
  OnnxWindow window;
  window.filter = {filter[2], filter[3]};
  window.stride = pair_in(node, "strides", 1);
  window.dilation = pair_in(node, "dilations", 1);
  window.pad = pair_in(node, "pads", 0);
  const auto pads = node.integers.find("pads");
  if (pads != node.integers.end() && pads->second.size() == 4)
    window.pad_behind = {pads->second[2], pads->second[3]};
  const auto word = node.words.find("auto_pad");
  if (word == node.words.end() || !word->second.starts_with("SAME")) return window;
  if (image.size() != 4) return std::nullopt;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t size = image[axis + 2], stride = window.stride[axis];
    if (size == unknown_extent || stride < 1) return std::nullopt;
    const std::int64_t reach = window.dilation[axis] * (window.filter[axis] - 1) + 1;
    const std::int64_t pad =
        std::max<std::int64_t>(0, (ceil_divide(size, stride) - 1) * stride + reach - size);
    const std::int64_t less = pad / 2, more = pad - less;
    const bool is_upper = word->second == "SAME_UPPER";
    window.pad[axis] = is_upper ? less : more;
    window.pad_behind[axis] = is_upper ? more : less;
  }
  return window;
}

OnnxShapes shapes_of(const io::OnnxModel& model) {
  return Shapes(model).run();
}

}  // namespace weft
