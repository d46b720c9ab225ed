// Layers of a folder: which there are, what they are, and why some are left out.
#include <gmock/gmock.h>
#include <weft/dsl/errors.h>
#include <weft/formats/io/npy.h>
#include <weft/search/network/layer_classes.h>
#include <weft/search/network/layer_problem.h>
#include <weft/search/network/network.h>

#include <algorithm>
#include <limits>

#include "a_network.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const NetworkLayer& layer_named(const Network& network, const std::string& name) {
  const auto found = std::ranges::find(network.layers(), name, &NetworkLayer::name);
  if (found == network.layers().end()) throw std::runtime_error("no layer " + name);
  return *found;
}

TEST_F(ANetwork, LayersOfAFolderAreWhatNamesAndShapesSay) {
  write_model();
  Network network = Network::read(path());
  EXPECT_TRUE(network.inspect());
  EXPECT_EQ(network.other_tensors(), 1U);
  EXPECT_EQ(network.layers().size(), 5U);
  const NetworkLayer& linear = layer_named(network, "a.fc1");
  EXPECT_EQ(linear.kind, LayerKind::linear);
  ASSERT_TRUE(linear.found);
  EXPECT_EQ(linear.found->elements, 48 * 32);
  EXPECT_NEAR(linear.found->sparsity(), 0.8, 0.02);
  EXPECT_EQ(linear.found->format.text(), "csr");
  EXPECT_EQ(linear.found->dense_bytes, 48U * 32 * 4);
  EXPECT_LT(linear.found->packed_bytes, linear.found->dense_bytes);
  EXPECT_EQ(layer_named(network, "conv").kind, LayerKind::convolution);
  EXPECT_THAT(layer_named(network, "fc2").left_out, HasSubstr("% of its weights are zero: it stays dense"));
  EXPECT_THAT(layer_named(network, "wte").left_out, HasSubstr("an embedding"));
}

TEST_F(ANetwork, LayersThatAreAlikeAreOneClass) {
  write_model();
  Network network = Network::read(path());
  network.inspect();
  const std::vector<LayerClass> classes = classes_of(network.layers());
  ASSERT_EQ(classes.size(), 2U);
  const auto linear =
      std::ranges::find_if(classes, [](const LayerClass& one) { return one.layers.size() == 2; });
  ASSERT_NE(linear, classes.end());
  EXPECT_EQ(linear->calls, 2);
  EXPECT_THAT(text_of_class(network.layers()[linear->representative()]), HasSubstr("48 x 32 f32"));
}

TEST_F(ANetwork, ConfigurationsKeepLayersDense) {
  write_model();
  write("config.json",
        R"({"model_type": "llama", "quantization_config": {"ignore": ["a.fc1", "re:conv.*"]}})");
  const Network network = Network::read(path());
  EXPECT_THAT(layer_named(network, "a.fc1").left_out, HasSubstr("config.json keeps dense"));
  EXPECT_THAT(layer_named(network, "conv").left_out, HasSubstr("config.json keeps dense"));
  EXPECT_THAT(layer_named(network, "b.fc1").left_out, IsEmpty());
  write("config.json", R"({"quantization_config": {"ignore": 7}})");
  try {
    Network::read(path());
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("config.json, line 1"), HasSubstr("a list of names")));
  }
}

TEST_F(ANetwork, WhatCannotBeReadIsLeftOutWithItsReason) {
  Array broken = pruned({16, 16}, 0.7, 7);
  broken.set(5, std::numeric_limits<double>::quiet_NaN());
  write_model();
  write_safetensors(path("other.safetensors"), {{"nan.weight", broken}});
  write("cut.safetensors", "12345678");
  Network network = Network::read(path());
  network.inspect();
  const NetworkLayer& nan = layer_named(network, "nan");
  EXPECT_TRUE(nan.broken);
  EXPECT_THAT(nan.left_out, HasSubstr("nan"));
  EXPECT_TRUE(std::ranges::any_of(network.layers(), [](const NetworkLayer& layer) {
    return layer.broken && layer.weight.path.ends_with("cut.safetensors");
  }));
  EXPECT_TRUE(layer_named(network, "a.fc1").found) << "the others are there";
}

TEST_F(ANetwork, OneFileThatCannotBeReadIsNoNetwork) {
  write("model.pt", "12345678");
  EXPECT_THROW(Network::read(path("model.pt")), UserError);
}

TEST_F(ANetwork, ItsLayersAreGoneThrough) {
  write_model();
  std::size_t count = 0;
  for (const NetworkLayer& layer : Network::read(path())) count += layer.name.empty() ? 0 : 1;
  EXPECT_EQ(count, 5U);
}

TEST_F(ANetwork, ANetworkFileSaysWhatIsComputed) {
  write_model();
  write_network_file(all_layers);
  Network network = Network::read(path("network.json"));
  network.inspect();
  ASSERT_EQ(network.layers().size(), 3U);
  const NetworkLayer& linear = network.layers()[0];
  EXPECT_EQ(linear.n, 8);
  EXPECT_EQ(linear.bias, "a.fc1.bias");
  const NetworkLayer& conv = network.layers()[2];
  ASSERT_TRUE(conv.convolution);
  EXPECT_EQ(conv.convolution->filters, 8);
  EXPECT_EQ(conv.convolution->channels, 4);
  EXPECT_THAT(conv.convolution->output(), ElementsAre(9, 9));
  EXPECT_EQ(Network::read(path()).layers().size(), 3U) << "the folder's network file";
}

TEST_F(ANetwork, ANetworkFileSaysHowFeaturesLie) {
  write_model();
  write_network_file(R"({"name": "x", "op": "linear", "weight": "a.fc1.weight", "n": 8},
                        {"name": "y", "op": "linear", "weight": "a.fc1.weight", "n": 8, "layout": "nk_mn"})");
  Network network = Network::read(path());
  network.inspect();
  EXPECT_EQ(network.layers()[0].layout, ProductLayout::nk);
  EXPECT_EQ(network.layers()[1].layout, ProductLayout::nk_mn);
  EXPECT_THAT(classes_of(network.layers()), SizeIs(2)) << "kernels of other layouts are others";
  EXPECT_EQ(layout_on(network.layers()[1], target_named("sm_90a")), ProductLayout::nk_mn);
  EXPECT_EQ(layout_on(network.layers()[1], target_named("cpu")), ProductLayout::kn);
}

/// Those of one matrix have no names within.
TEST_F(ANetwork, ANetworkFileNamesFilesWithoutTheirEndings) {
  std::filesystem::create_directories(path("weights/block"));
  write_npy(path("weights/block/up.npy"), pruned({16, 8}, 0.8));
  write("network.json", R"({"weft_network": 1, "weights": "weights", "layers": [
    {"name": "up", "op": "linear", "weight": "block/up", "n": 8}]})");
  Network network = Network::read(path());
  network.inspect();
  EXPECT_EQ(layer_named(network, "up").found->elements, 128);
  write("network.json", R"({"weft_network": 1, "weights": "weights", "layers": [
    {"name": "up", "op": "linear", "weight": "up", "n": 8}]})");
  try {
    Network::read(path());
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr(": block/up"));
  }
}

TEST_F(ANetwork, NetworkFilesAreRefusedWithTheirLine) {
  write_model();
  const struct {
    std::string layers;
    std::string says;
  } all[] = {
      {R"({"name": "x", "op": "linear", "weight": "nosuch.weight"})", "names a tensor that is not there"},
      {R"({"name": "x", "op": "linear", "weight": "a.fc2.weight"})", "did you mean"},
      {R"({"name": "x", "op": "matmul", "weight": "a.fc1.weight"})", "\"linear\" or \"conv2d\""},
      {R"({"name": "x", "op": "linear", "weight": "a.fc1.weight", "image": 4})", "a field that nobody reads"},
      {R"({"name": "x", "op": "linear", "weight": "conv.weight"})", "two dimensions of a linear layer"},
      {R"({"name": "x", "op": "conv2d", "weight": "conv.weight", "image": [2, 2]})", "layer x"},
      {R"({"name": "x", "op": "linear", "weight": "a.fc1.weight", "n": 0})", "a whole number from 1"},
      {R"({"name": "x", "op": "linear", "weight": "a.fc1.weight", "n": 8,})", "no comma before }"},
      {R"({"name": "x", "op": "linear", "weight": "a.fc1.weight", "layout": "nchw"})",
       "kn, nk, nk_mn or kn_nm"},
      {R"({"name": "x" "op": "linear", "weight": "a.fc1.weight"})", "a comma between two fields"},
      {R"({"name": "x", "op": "linear", "weight": "c.fc1.weight"})", "a.fc1.weight, "},
      {R"({"name": "x", "op": "conv2d", "weight": "conv.weight", "groups": 3})", "8 filters and 3 groups"},
      {R"({"name": "x", "op": "linear", "weight": "a.fc1.weight"}, {"name": "x", "op": "linear", "weight": "a"})",
       "every name once"},
      {"", "at least one layer"},
  };
  for (const auto& [layers, says] : all) {
    write_network_file(layers);
    try {
      Network::read(path());
      FAIL() << layers;
    } catch (const UserError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr(says), HasSubstr("network.json"), HasSubstr("accepted:")))
          << layers;
    }
  }
  write("network.json", R"({"layers": []})");
  EXPECT_THROW(Network::read(path()), UserError);
}

}  // namespace
}  // namespace weft
