// Lesson 3c: a pruned block of ResNet-50, from its files to its output.
//
// Such a block is three layers and a shortcut: 1x1 filters leave a quarter of the channels, 3x3 filters look
// around each pixel, 1x1 filters bring the channels back, and the input of the block is added. Every layer is
// one kernel: its bias, the addition and ReLU are part of it. The lesson runs the block on the CPU, in the
// simulator, and on a GPU where there is one, and compares each output with the block computed in f64.
//
//   lesson_03c_resnet_block [FOLDER [STAGE]]
//
// reads the weights of stage 1, 2, 3 or 4 from a folder (files_of_layer says under which names). Those that
// are not there are drawn, written to files, and read from them.

#include <weft/backends/runtime/driver.h>
#include <weft/backends/runtime/process.h>
#include <weft/backends/simulator/device.h>
#include <weft/formats/io/npy.h>
#include <weft/weft.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iomanip>
#include <iostream>

using namespace weft;

namespace {

constexpr std::size_t layer_count = 3;
using Algorithms = std::array<Algorithm, layer_count>;

/// Channels of the block, channels between its layers, height and width of the image.
struct BlockShape {
  std::int64_t channels, inner, side;
};

/// In f32, as the kernels compute, or in f64, as they are checked. For 1x1 filters an image is a matrix: a
/// row a channel, a column a pixel.
template <class Element>
Algorithms block(const BlockShape& shape) {
  const auto [channels, inner, side] = shape;
  const std::int64_t pixels = side * side;
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<Element, 2, sparse> W1("W", {inner, channels}), W3("W", {channels, inner});
  const Tensor<Element, 2> X1("X", {channels, pixels}), Y1("Y", {inner, pixels});
  const Tensor<Element, 2> X3("X", {inner, pixels}), Y3("Y", {channels, pixels});
  const Tensor<Element, 2> shortcut("shortcut", {channels, pixels});

  WEFT_INDEX(f);
  WEFT_INDEX(p);
  WEFT_INDEX(q);
  WEFT_INDEX(c);
  WEFT_INDEX(r);
  WEFT_INDEX(s);
  const Tensor<Element, 4, sparse> W2("W", {inner, inner, 3, 3});
  const Tensor<Element, 3> X2("X", {inner, side, side}), Y2("Y", {inner, side, side});
  const Tensor<Element, 1> few("bias", {inner}), many("bias", {channels});

  return {algorithm("reduce", Y1(m, n) = relu(sum(k, W1(m, k) * X1(k, n)) + few(m))),
          algorithm("filter",
                    Y2(f, p, q) = relu(sum(c, r, s, W2(f, c, r, s) * X2(c, p + r - 1, q + s - 1)) + few(f))),
          algorithm("expand", Y3(m, n) = relu(sum(k, W3(m, k) * X3(k, n)) + many(m) + shortcut(m, n)))};
}

std::vector<std::int64_t> shape_of(const Algorithm& algorithm, const std::string& name) {
  std::vector<std::int64_t> shape;
  for (const Operand& operand : algorithm.operands) {
    if (operand.name != name) continue;
    for (const Extent& extent : operand.shape) shape.push_back(extent.value);
  }
  return shape;
}

/// The arrays of a layer; the last one alone adds the shortcut.
Arguments arguments_of(const Algorithm& algorithm, Array& x, Array& bias, Array& shortcut, Array& y) {
  Arguments arguments{{{"X", &x}, {"bias", &bias}, {"Y", &y}}, {}};
  if (!shape_of(algorithm, "shortcut").empty()) arguments.tensors["shortcut"] = &shortcut;
  return arguments;
}

struct Layer {
  WeightMatrix weights;
  Array bias;
  std::string source;  ///< where the weights are from
};
using Layers = std::array<Layer, layer_count>;

/// As the Deep Learning Matrix Collection names them, and the authors of SparseRT their 3x3 filters.
std::vector<std::string> files_of_layer(std::size_t layer, int stage) {
  const std::string name =
      "bottleneck_" + std::to_string(layer + 1) + "_block_group" + std::to_string(stage) + "_1_1";
  std::vector<std::string> names{name + ".npy", name + ".smtx"};
  if (layer == 1) names.insert(names.begin(), "filter_bg" + std::to_string(stage) + ".npy");
  return names;
}

Layer read_layer(const Algorithm& algorithm, const std::vector<std::string>& names,
                 const std::filesystem::path& folder, std::uint64_t seed) {
  const std::vector<std::int64_t> shape = shape_of(algorithm, "W");
  const std::int64_t rows = shape.front(), columns = element_count(shape, "W") / rows;
  const auto exists = [&](const std::string& name) { return std::filesystem::exists(folder / name); };
  const auto found = folder.empty() ? names.end() : std::ranges::find_if(names, exists);
  Layer layer;
  if (found != names.end()) {
    layer.source = *found;
    layer.weights = read((folder / *found).string());
  } else {
    const TemporaryFolder drawn;
    const std::string path = (drawn.path() / names.front()).string();
    write_npy(path,
              to_dense(synthetic_layer({.rows = rows, .columns = columns, .sparsity = 0.9, .seed = seed})));
    layer.source = "drawn";
    layer.weights = read(path);
  }
  if (layer.weights.rows != rows || layer.weights.columns != columns)
    throw UserError("the weights have another shape", layer.source, text_of_shape(layer.weights.shape),
                    std::to_string(rows) + " x " + std::to_string(columns));
  // Some files have positions and no values.
  layer.weights = layer.weights.pattern_only ? with_random_values(layer.weights, DType::f32, seed)
                                             : converted(layer.weights, DType::f32);
  layer.weights.shape = shape;
  layer.bias = random_array(DType::f32, {rows}, seed + 10);
  return layer;
}

/// The whole block in f64: what a layer gives is rounded nowhere before the next takes it.
Reference expected_output(const Algorithms& algorithms, const Layers& layers, const Array& image) {
  Array x = image.converted(DType::f64), shortcut = x;
  Reference result;
  for (std::size_t i = 0; i < layer_count; ++i) {
    const SparseTensor weights = pack(converted(layers[i].weights, DType::f64), formats::csr());
    Array bias = layers[i].bias.converted(DType::f64);
    Array y(DType::f64, shape_of(algorithms[i], "Y"));
    x = std::move(x).reshaped(shape_of(algorithms[i], "X"));
    result = reference(algorithms[i], &weights, arguments_of(algorithms[i], x, bias, shortcut, y));
    x = result.value;
  }
  return result;
}

const char* form_of(const Schedule& schedule) {
  const auto has = [&](const char* name) {
    return std::ranges::any_of(schedule.steps(), [&](const Step& step) { return step.name == name; });
  };
  if (!schedule.target().is_gpu()) return "default";
  if (has("bake_values")) return has("split_k") ? "in the code, groups" : "in the code";
  return has("stage") ? "streamed, panel of X" : "streamed, a row a warp";
}

/// Runs the block, prints a line for each layer, and compares.
bool run(const Device& device, const Target& target, const BlockShape& shape, const Layers& layers) {
  const Algorithms algorithms = block<f32>(shape);
  const Array image = random_array(DType::f32, shape_of(algorithms[0], "X"), 7);
  Array x = image, shortcut = image;
  std::cout << "---- " << device.name() << " (" << device.description().model << "), " << shape.side << " x "
            << shape.side << " pixels\n"
            << std::left << std::setw(8) << "layer" << std::setw(36) << "weights" << std::setw(9) << "entries"
            << std::setw(24) << "form" << "us\n";
  const bool timed = device.kind() != DeviceKind::simulator;
  for (std::size_t i = 0; i < layer_count; ++i) {
    const auto weights = std::make_shared<const SparseTensor>(pack(layers[i].weights, formats::csr()));
    // On the CPU the recipe is the default schedule.
    const Kernel kernel = compile(sparsert(algorithms[i], weights, target), {.assemble = device.is_cuda()});
    Array bias = layers[i].bias;
    Array y(DType::f32, shape_of(algorithms[i], "Y"));
    // The same bytes: a matrix with a row a channel, or an image.
    x = std::move(x).reshaped(shape_of(algorithms[i], "X"));
    const BoundKernel bound = kernel.bind(device, arguments_of(algorithms[i], x, bias, shortcut, y));
    bound.poison_output();
    bound.launch(nullptr);
    bound.download("Y", y);
    std::cout << std::setw(8) << algorithms[i].name << std::setw(36) << layers[i].source << std::setw(9)
              << layers[i].weights.stored() << std::setw(24) << form_of(kernel.schedule());
    if (timed) {
      const auto launch = [&](StreamHandle stream) { bound.launch(stream); };
      std::cout << std::fixed << std::setprecision(1)
                << time(device, launch, {.maximum_seconds = 0.3}).median;
    }
    std::cout << "\n" << std::defaultfloat;
    x = std::move(y);
  }
  const Difference found = difference(x, expected_output(block<f64>(shape), layers, image));
  const bool right = found.wrong < 0 && found.relative < 1e-6;
  std::cout << (right ? "right: " : "WRONG: ") << found.text() << "\n\n";
  return right;
}

bool run_everywhere(const std::filesystem::path& folder, int stage) {
  const std::int64_t inner = std::int64_t{32} << stage;
  const BlockShape shape{4 * inner, inner, 112 >> stage};
  const Algorithms algorithms = block<f32>(shape);
  Layers layers;
  for (std::size_t i = 0; i < layer_count; ++i)
    layers[i] = read_layer(algorithms[i], files_of_layer(i, stage), folder, i + 1);

  bool right = run(Device::cpu(), target_named("cpu"), shape, layers);
  const BlockShape small{shape.channels, shape.inner, 7};
  right = run(Device::simulator("sm_80"), target_named("sm_80"), small, layers) && right;
  if (!driver::status().ready()) {
    std::cout << driver::status().sentence << "\n";
    return right;
  }
  const Device gpu = Device::cuda();
  const int sm = gpu.description().sm;
  return run(gpu, target_named(sm >= 90 ? "sm_90" : sm >= 80 ? "sm_80" : "sm_75"), shape, layers) && right;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string stage = count > 2 ? arguments[2] : "1";
  if (count > 3 || stage.size() != 1 || stage < "1" || stage > "4" ||
      (count > 1 && !std::filesystem::is_directory(arguments[1]))) {
    std::cerr << "usage: lesson_03c_resnet_block [FOLDER [STAGE]], with a folder of weights and a stage from "
                 "1 to 4\n";
    return 2;
  }
  try {
    return run_everywhere(count > 1 ? arguments[1] : "", stage[0] - '0') ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
