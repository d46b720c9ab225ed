// Layers of a model of ONNX: kinds, sizes, biases, and which way round their weights lie.
#include <gmock/gmock.h>
#include <weft/dsl/errors.h>
#include <weft/search/network/network.h>

#include <algorithm>

#include "a_network.h"
#include "support/onnx_message.h"

namespace weft {
namespace {

using test::onnx_file;
using test::onnx_node;
using test::onnx_tensor;
using test::onnx_value;
using test::OnnxMessage;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class AnOnnxModel : public ANetwork {
 public:
  static OnnxMessage tensor(const std::string& name, const std::vector<std::int64_t>& shape) {
    const Array array = shape.size() > 1 ? pruned(shape, 0.8) : random_array(DType::f32, shape, 1);
    const auto* bytes = reinterpret_cast<const char*>(array.data());
    return onnx_tensor(name, shape, std::string(bytes, array.bytes()));
  }
  Network read(const OnnxMessage& graph) const {
    write("m.onnx", onnx_file(graph));
    return Network::read(path("m.onnx"));
  }
};

const NetworkLayer& layer_of(const Network& network, const std::string& name) {
  const auto found = std::ranges::find(network.layers(), name, &NetworkLayer::name);
  if (found == network.layers().end()) throw std::runtime_error("no layer " + name);
  return *found;
}

TEST_F(AnOnnxModel, SizesFollowFromItsInput) {
  OnnxMessage graph;
  graph.message(11, onnx_value("x", {2, 4, 20, 24}));
  graph.message(1, onnx_node("Conv", {"x", "c1.weight", "c1.bias"}, "a",
                             {{"pads", {1, 1, 1, 1}}, {"strides", {2, 2}}, {"kernel_shape", {3, 3}}}));
  graph.message(1, onnx_node("Relu", {"a"}, "b"));
  graph.message(1, onnx_node("MaxPool", {"b"}, "c", {{"kernel_shape", {2, 2}}, {"strides", {2, 2}}}));
  graph.message(1, onnx_node("Conv", {"c", "c2.weight"}, "d", {{"group", {2}}, {"dilations", {1, 2}}}));
  graph.message(1, onnx_node("Add", {"d", "d"}, "e"));
  graph.message(1, onnx_node("Flatten", {"e"}, "f"));
  graph.message(1, onnx_node("Gemm", {"f", "fc.weight", "fc.bias"}, "y", {{"transB", {1}}}));
  graph.message(5, tensor("c1.weight", {8, 4, 3, 3})).message(5, tensor("c1.bias", {8}));
  graph.message(5, tensor("c2.weight", {8, 4, 3, 1})).message(5, tensor("fc.weight", {10, 144}));
  graph.message(5, tensor("fc.bias", {10})).message(5, tensor("table", {5, 6}));
  Network network = read(graph);
  EXPECT_EQ(network.layers().size(), 4U);
  EXPECT_EQ(network.other_tensors(), 2U);
  const NetworkLayer& first = layer_of(network, "c1");
  ASSERT_TRUE(first.convolution);
  EXPECT_EQ(first.bias, "c1.bias");
  EXPECT_EQ(first.convolution->batch, 2);
  EXPECT_THAT(first.convolution->image, ElementsAre(20, 24));
  EXPECT_THAT(first.convolution->output(), ElementsAre(10, 12));
  const NetworkLayer& second = layer_of(network, "c2");
  ASSERT_TRUE(second.convolution);
  EXPECT_EQ(second.image_groups, 2);
  EXPECT_THAT(second.convolution->image, ElementsAre(5, 6));
  EXPECT_THAT(second.convolution->output(), ElementsAre(3, 6));
  const NetworkLayer& last = layer_of(network, "fc");
  EXPECT_EQ(last.n, 2);
  EXPECT_FALSE(last.transposed);
  EXPECT_THAT(layer_of(network, "table").left_out, HasSubstr("no Conv, Gemm or MatMul"));
}

TEST_F(AnOnnxModel, WeightsOfAMatMulLieTheOtherWay) {
  OnnxMessage graph;
  graph.message(11, onnx_value("x", {-1, 7, 32}));
  graph.message(1, onnx_node("MatMul", {"x", "up"}, "a")).message(1, onnx_node("Add", {"up.bias", "a"}, "b"));
  graph.message(1, onnx_node("MatMul", {"b", "down"}, "c"));
  graph.message(1, onnx_node("MatMul", {"c", "up"}, "d")).message(1, onnx_node("MatMul", {"d", "d"}, "y"));
  graph.message(13, onnx_value("b", {3, 7, 48}));
  graph.message(5, tensor("up", {32, 48}))
      .message(5, tensor("up.bias", {48}))
      .message(5, tensor("down", {48, 32}));
  Network network = read(graph);
  network.inspect();
  const NetworkLayer& up = layer_of(network, "up");
  EXPECT_TRUE(up.transposed);
  EXPECT_THAT(up.weight.shape, ElementsAre(48, 32));
  EXPECT_EQ(up.bias, "up.bias");
  EXPECT_FALSE(up.n) << "how many images there are is not said";
  EXPECT_EQ(layer_of(network, "down").n, 21);
  const WeightMatrix turned = weights_of(up), stored = weft::read(path("m.onnx"), {.tensor = "up"});
  const Array left = to_dense(turned), right = to_dense(stored);
  for (std::int64_t i = 0; i < 48; ++i) {
    for (std::int64_t j = 0; j < 32; ++j) ASSERT_EQ(left.get(i * 32 + j), right.get(j * 48 + i));
  }
}

TEST_F(AnOnnxModel, LayersThatShareAWeightAreOneWhereAllElseIsAlike) {
  OnnxMessage graph;
  graph.message(11, onnx_value("x", {6, 32}));
  for (const char* bias : {"b1", "b2", "b1"})
    graph.message(1, onnx_node("Gemm", {"x", "w", bias}, std::string("of_") + bias, {{"transB", {1}}}));
  graph.message(1, onnx_node("MatMul", {"x", "v"}, "seen")).message(1, onnx_node("Add", {"seen", "b1"}, "y"));
  graph.message(12, onnx_value("seen", {6, 48})).message(12, onnx_value("y", {6, 48}));
  graph.message(5, tensor("w", {48, 32})).message(5, tensor("v", {32, 48}));
  graph.message(5, tensor("b1", {48})).message(5, tensor("b2", {48}));
  write("m.onnx", onnx_file(graph));
  // A folder with nothing else is the model.
  const Network network = Network::read(path());
  ASSERT_EQ(network.layers().size(), 3U);
  EXPECT_EQ(network.other_tensors(), 2U);
  EXPECT_EQ(layer_of(network, "w").calls, 2);
  EXPECT_EQ(layer_of(network, "w").bias, "b1");
  EXPECT_EQ(layer_of(network, "node_of_b2").bias, "b2");
  EXPECT_EQ(layer_of(network, "v").bias, "") << "others see the product without it";
  EXPECT_TRUE(layer_of(network, "v").transposed);
}

TEST_F(AnOnnxModel, WhatItDoesNotComputeAsWeftDoesIsLeftOut) {
  OnnxMessage graph;
  graph.message(11, onnx_value("x", {1, 4, 9, 9})).message(11, onnx_value("l", {1, 4, 30}));
  graph.message(1, onnx_node("Conv", {"x", "uneven"}, "a", {{"pads", {0, 0, 1, 1}}}));
  graph.message(1, onnx_node("Conv", {"l", "line"}, "b"))
      .message(1, onnx_node("Gemm", {"c", "turned"}, "d", {{"transA", {1}}}));
  graph.message(5, tensor("uneven", {8, 4, 2, 2}))
      .message(5, tensor("line", {8, 4, 3}))
      .message(5, tensor("turned", {6, 8}));
  const Network network = read(graph);
  EXPECT_THAT(layer_of(network, "uneven").left_out, HasSubstr("not padded alike on both sides"));
  EXPECT_THAT(layer_of(network, "line").left_out, HasSubstr("a convolution of 1 dimensions, not of two"));
  EXPECT_THAT(layer_of(network, "turned").left_out, HasSubstr("transA"));
}

}  // namespace
}  // namespace weft
