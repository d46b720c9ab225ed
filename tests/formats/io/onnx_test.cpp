#include <formats/io/expect_refused.h>
#include <formats/io/make_files.h>
#include <gmock/gmock.h>
#include <unistd.h>
#include <weft/formats/io/onnx.h>
#include <weft/formats/io/read.h>

#include <filesystem>
#include <fstream>

#include "support/onnx_message.h"

namespace weft {
namespace {

using test::onnx_file;
using test::onnx_tensor;
using test::OnnxMessage;
using test::raw;
using testing::bytes_of;
using ::testing::ElementsAre;
using testing::expect_refused;
using ::testing::HasSubstr;

const std::vector<float> six{1, 0, -2, 0, 0, 3};

WeightMatrix weights_in(const OnnxMessage& graph, const std::string& tensor = {}) {
  const std::string file = onnx_file(graph);
  WeightMatrix matrix = io::parse_onnx_weights(bytes_of(file), "a.onnx", {.tensor = tensor});
  matrix.check();
  return matrix;
}

TEST(Onnx, InitializersAreTensors) {
  OnnxMessage graph;
  graph.message(5, onnx_tensor("w", {2, 3}, raw(six))).message(5, onnx_tensor("b", {2}, raw<float>({5, 6})));
  const WeightMatrix matrix = weights_in(graph);
  EXPECT_THAT(matrix.shape, ElementsAre(2, 3));
  EXPECT_THAT(matrix.column, ElementsAre(0, 2, 2));
  EXPECT_EQ(matrix.origin, "a.onnx:w");
  const std::string file = onnx_file(graph);
  EXPECT_TRUE(io::looks_like_onnx(bytes_of(file)));
  EXPECT_EQ(io::parse_onnx_array(bytes_of(file), "a.onnx", {.tensor = "b"}).get(1), 6);
  EXPECT_EQ(io::list_onnx(bytes_of(file), "a.onnx").size(), 2U);
}

/// float_data; f16 as numbers of its bits; a Constant.
TEST(Onnx, ElementsStandInSeveralFields) {
  OnnxMessage graph;
  graph.message(5, OnnxMessage().numbers(1, {2, 3}).number(2, 1).text(8, "floats").text(4, raw(six)));
  graph.message(5, OnnxMessage().numbers(1, {1, 2}).number(2, 10).text(8, "halves").numbers(5, {0x3C00, 0}));
  OnnxMessage constant = OnnxMessage().text(2, "made").text(4, "Constant");
  constant.message(5, OnnxMessage().text(1, "value").message(5, onnx_tensor("", {1, 2}, raw<float>({0, 4}))));
  graph.message(1, constant);
  EXPECT_THAT(weights_in(graph, "floats").column, ElementsAre(0, 2, 2));
  const WeightMatrix halves = weights_in(graph, "halves");
  EXPECT_EQ(halves.values.dtype(), DType::f16);
  EXPECT_EQ(halves.values.get(0), 1);
  EXPECT_EQ(weights_in(graph, "made").values.get(0), 4);
}

TEST(Onnx, SparseInitializersAreWeights) {
  const std::string values = raw<float>({7, 8, 9});
  OnnxMessage linear, places;
  linear.message(1, onnx_tensor("w", {3}, values))
      .message(2, onnx_tensor("", {3}, raw<std::int64_t>({0, 5, 7}), 7));
  linear.numbers(3, {2, 4});
  const WeightMatrix matrix = weights_in(OnnxMessage().message(15, linear));
  EXPECT_THAT(matrix.row_begin, ElementsAre(0, 1, 3));
  EXPECT_THAT(matrix.column, ElementsAre(0, 1, 3));
  places.message(1, onnx_tensor("w", {3}, values));
  places.message(2, onnx_tensor("", {3, 2}, raw<std::int64_t>({0, 0, 1, 1, 1, 3}), 7)).numbers(3, {2, 4});
  EXPECT_EQ(weights_in(OnnxMessage().message(15, places)).column, matrix.column);
  OnnxMessage beyond;
  beyond.message(1, onnx_tensor("w", {1}, raw<float>({7})));
  beyond.message(2, onnx_tensor("", {1}, raw<std::int64_t>({8}), 7)).numbers(3, {2, 4});
  expect_refused([&] { weights_in(OnnxMessage().message(15, beyond)); },
                 {"tensor \"w\"", "index 8 of value 0", "indices from 0 to 7"});
}

TEST(Onnx, LargeTensorsLieInFilesBeside) {
  const auto folder = std::filesystem::temp_directory_path() / ("weft_onnx_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "w.data", std::ios::binary) << "0123" << raw(six);
  const auto model = [&](const std::string& location, const std::string& offset) {
    OnnxMessage tensor = OnnxMessage().numbers(1, {2, 3}).number(2, 1).text(8, "w").number(14, 1);
    tensor.message(13, OnnxMessage().text(1, "location").text(2, location));
    tensor.message(13, OnnxMessage().text(1, "offset").text(2, offset));
    const std::string path = folder / "m.onnx";
    std::ofstream(path, std::ios::binary) << onnx_file(OnnxMessage().message(5, tensor));
    return path;
  };
  EXPECT_THAT(read(model("w.data", "4")).column, ElementsAre(0, 2, 2));
  expect_refused([&] { read(model("w.data", "8")); }, {"24 bytes from byte 8 in a file of 28", "whole"});
  expect_refused([&] { read(model("../w.data", "4")); }, {"a file in the folder of this one"});
  expect_refused([&] { read(model("w.data", "x")); }, {"as a place in a file"});
  EXPECT_THROW(read(model("nosuch.data", "4")), UserError);
  std::filesystem::remove_all(folder);
}

TEST(Onnx, WhatIsNoModelIsRefused) {
  const std::string whole = onnx_file(OnnxMessage().message(5, onnx_tensor("w", {2, 3}, raw(six))));
  for (std::size_t size = 1; size + 1 < whole.size(); ++size) {
    const std::string cut = whole.substr(0, size);
    EXPECT_THROW(io::parse_onnx(bytes_of(cut), "a.onnx"), UserError) << size;
  }
  const std::string no_graph = OnnxMessage().number(1, 8).bytes();
  expect_refused([&] { io::parse_onnx(bytes_of(no_graph), "a.onnx"); }, {"no graph"});
  expect_refused([&] { weights_in(OnnxMessage().message(5, onnx_tensor("w", {2, 4}, raw(six)))); },
                 {"24 bytes for F32 [2, 4]", "32 bytes"});
  EXPECT_NO_THROW(weights_in(OnnxMessage().message(5, onnx_tensor("w", {2, 3}, "abcdef", 17))));
  expect_refused([&] { weights_in(OnnxMessage().message(5, onnx_tensor("w", {2, -3}, ""))); }, {"extents"});
}

}  // namespace
}  // namespace weft
