#include <weft/backends/runtime/process.h>
#include <weft/formats/io/safetensors.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/search/network/made_network.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr double sparsity = 0.9;
constexpr std::int64_t tokens = 128;

struct MadeConvolution {
  const char* name;
  std::int64_t filters, channels, filter, image, stride;
};
constexpr std::array<MadeConvolution, 6> convolutions{{{"layer2.0.conv1", 128, 512, 1, 28, 1},
                                                       {"layer2.0.conv2", 128, 128, 3, 28, 1},
                                                       {"layer2.0.conv3", 512, 128, 1, 28, 1},
                                                       {"layer3.0.conv1", 256, 512, 1, 28, 1},
                                                       {"layer3.0.conv2", 256, 256, 3, 28, 2},
                                                       {"layer3.0.conv3", 1024, 256, 1, 14, 1}}};

struct MadeLinear {
  const char* name;
  std::int64_t outputs, inputs;
};
constexpr std::array<MadeLinear, 6> linears{{{"block.query", 512, 512},
                                             {"block.key", 512, 512},
                                             {"block.value", 512, 512},
                                             {"block.out", 512, 512},
                                             {"block.up", 2048, 512},
                                             {"block.down", 512, 2048}}};

class Writer {
 public:
  void add(const MadeConvolution& one) {
    const std::vector<std::int64_t> shape{one.filters, one.channels, one.filter, one.filter};
    add_weight(one.name, shape);
    layers_.push_back({{"name", one.name},
                       {"op", "conv2d"},
                       {"weight", std::string(one.name) + ".weight"},
                       {"image", {one.image, one.image}},
                       {"stride", {one.stride, one.stride}},
                       {"pad", {one.filter / 2, one.filter / 2}}});
  }
  void add(const MadeLinear& one) {
    add_weight(one.name, {one.outputs, one.inputs});
    const std::string bias = std::string(one.name) + ".bias";
    tensors_.emplace_back(bias, random_array(DType::f32, {one.outputs}, seed_, RandomValues::uniform));
    layers_.push_back({{"name", one.name},
                       {"op", "linear"},
                       {"weight", std::string(one.name) + ".weight"},
                       {"bias", bias},
                       {"n", tokens}});
  }
  void write(const fs::path& folder) const {
    write_safetensors((folder / "model.safetensors").string(), tensors_,
                      {{"origin", "weft, a made network"}});
    const nlohmann::ordered_json file{
        {"weft_network", 1}, {"weights", "model.safetensors"}, {"layers", layers_}};
    write_bytes(folder / "network.json", file.dump(1) + "\n");
  }

 private:
  void add_weight(const std::string& name, std::vector<std::int64_t> shape) {
    std::int64_t columns = 1;
    for (std::size_t i = 1; i < shape.size(); ++i) columns *= shape[i];
    WeightMatrix layer =
        synthetic_layer({.rows = shape.front(), .columns = columns, .sparsity = sparsity, .seed = ++seed_});
    const Array matrix = to_dense(layer);
    Array weight(DType::f32, std::move(shape));
    std::copy(matrix.data(), matrix.data() + matrix.bytes(), weight.data());
    tensors_.emplace_back(name + ".weight", std::move(weight));
  }

  std::vector<std::pair<std::string, Array>> tensors_;
  nlohmann::ordered_json layers_ = nlohmann::ordered_json::array();
  std::uint64_t seed_ = 0;
};

}  // namespace

void write_made_network(const std::string& folder, CallPlace place) {
  user_call(place, [&] {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) refuse_path("make the folder", folder, error);
    Writer writer;
    for (const MadeConvolution& one : convolutions) writer.add(one);
    for (const MadeLinear& one : linears) writer.add(one);
    writer.write(folder);
  });
}

}  // namespace weft
