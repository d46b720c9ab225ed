// A small network on disk: what its tests share.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>
#include <weft/formats/io/read.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace weft {

/// A folder of its own, removed in the end.
class ANetwork : public ::testing::Test {
 public:
  ANetwork()
      : folder_(std::filesystem::temp_directory_path() / ("weft_network_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~ANetwork() override { std::filesystem::remove_all(folder_); }
  ANetwork(const ANetwork&) = delete;
  ANetwork& operator=(const ANetwork&) = delete;

  std::string path(const std::string& name = {}) const {
    return name.empty() ? folder_.string() : (folder_ / name).string();
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }

  /// A pruned layer; of four dimensions where the shape has them.
  static Array pruned(std::vector<std::int64_t> shape, double sparsity, std::uint64_t seed = 1) {
    std::int64_t width = 1;
    for (std::size_t i = 1; i < shape.size(); ++i) width *= shape[i];
    const WeightMatrix layer =
        synthetic_layer({.rows = shape[0], .columns = width, .sparsity = sparsity, .seed = seed});
    const Array dense = to_dense(layer);
    Array shaped(DType::f32, std::move(shape));
    for (std::int64_t i = 0; i < dense.size(); ++i) shaped.set(i, dense.get(i));
    return shaped;
  }

  /// Two linear layers that are alike, one that is not pruned, a convolution, an embedding, a bias.
  void write_model() const {
    write_safetensors(path("model.safetensors"), {{"a.fc1.weight", pruned({48, 32}, 0.8, 1)},
                                                  {"b.fc1.weight", pruned({48, 32}, 0.81, 2)},
                                                  {"fc2.weight", pruned({16, 48}, 0.05, 3)},
                                                  {"conv.weight", pruned({8, 4, 3, 3}, 0.7, 4)},
                                                  {"wte.weight", pruned({20, 32}, 0.9, 5)},
                                                  {"a.fc1.bias", random_array(DType::f32, {48}, 6)}});
  }

  void write_network_file(const std::string& layers) const {
    write("network.json",
          R"({"weft_network": 1, "weights": "model.safetensors", "layers": [)" + layers + "]}");
  }

 private:
  std::filesystem::path folder_;
};

inline constexpr const char* all_layers =
    R"({"name": "a.fc1", "op": "linear", "weight": "a.fc1.weight", "bias": "a.fc1.bias", "n": 8},
       {"name": "b.fc1", "op": "linear", "weight": "b.fc1.weight", "n": 8},
       {"name": "conv", "op": "conv2d", "weight": "conv.weight", "image": [9, 9], "pad": 1})";

}  // namespace weft
