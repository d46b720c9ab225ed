// The 52 convolutions of ResNet-50 behind its first, with pruned weights, one after the other as in a network
// of batch 1, so that what one layer leaves in the caches is not its own: cpu_network [--sparsity 0.9]
// [--threads 1] [--recipe auto] [--seconds 5]. Every result is verified first. Prints what each layer takes
// in a pass and alone, warm, and the pass as a whole. tests/bench/cpu_network_beside.py times dense ones.
#include <fmt/format.h>
#include <weft/backends/runtime/memory.h>
#include <weft/dsl/processors.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/search/choice/choice.h>
#include <weft/search/measure/verify.h>
#include <weft/search/spaces/problems.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace weft {
namespace {

struct Options {
  double sparsity = 0.9, seconds = 5;
  int threads = 1;
  std::string recipe = "auto";
};

struct Layer {
  std::int64_t channels, filters, filter, image, stride;

  std::string name() const {
    return fmt::format("{0}x{0} {1} to {2}, {3}x{3}{4}", filter, channels, filters, image,
                       stride > 1 ? ", stride 2" : "");
  }
};

/// Of the four stages, with the strides in the filters of three pixels: ResNet-50 as torchvision has it.
std::vector<Layer> layers_of_resnet_50() {
  std::vector<Layer> layers;
  std::int64_t channels = 64, image = 56;
  for (const auto& [width, blocks] : {std::pair(64, 3), {128, 4}, {256, 6}, {512, 3}}) {
    for (int block = 0; block < blocks; ++block) {
      const std::int64_t stride = block == 0 && width > 64 ? 2 : 1;
      layers.push_back({channels, width, 1, image, 1});
      layers.push_back({width, width, 3, image, stride});
      layers.push_back({width, 4L * width, 1, image / stride, 1});
      if (block == 0) layers.push_back({channels, 4L * width, 1, image, stride});
      channels = 4L * width;
      image /= stride;
    }
  }
  return layers;
}

/// A layer with its arrays and its kernel, which is right.
class Made {
 public:
  Made(const Layer& layer, std::uint64_t seed, const Options& options) : name_(layer.name()) {
    const Convolution what{.channels = layer.channels,
                           .filters = layer.filters,
                           .image = {layer.image, layer.image},
                           .filter = {layer.filter, layer.filter},
                           .pad = {layer.filter / 2, layer.filter / 2},
                           .stride = {layer.stride, layer.stride}};
    const Algorithm algorithm = convolution_algorithm(what, DType::f32);
    const WeightMatrix weights = synthetic_layer({.rows = layer.filters,
                                                  .columns = layer.channels * layer.filter * layer.filter,
                                                  .sparsity = options.sparsity,
                                                  .seed = seed});
    const auto [height, width] = what.output();
    input_ =
        random_array(DType::f32, {1, layer.channels, layer.image, layer.image}, seed, RandomValues::uniform);
    output_ = Array(DType::f32, {1, layer.filters, height, width});
    ChoiceOptions choice;
    if (options.recipe != "auto") choice.recipes = {options.recipe};
    const AutoKernel made =
        auto_kernel(algorithm, weights, target_named("cpu"), choice, {.threads = options.threads});
    recipe_ = made.choice.first().recipe->name;
    Arguments arguments;
    arguments.tensors = {{"B", &input_}, {"C", &output_}};
    right_ = verify(made.kernel, Device::cpu(), arguments).passed;
    bound_ = made.kernel.bind(Device::cpu(), arguments);
  }

  /// The memory of images, which all layers share.
  void use(const DeviceMemory& images, const DeviceMemory& results) {
    bound_->use_memory("B", images.address());
    bound_->use_memory("C", results.address());
  }
  std::size_t bytes() const { return std::max(input_.bytes(), output_.bytes()); }

  const std::string& name() const { return name_; }
  std::string_view recipe() const { return recipe_; }
  bool right() const { return right_; }
  double microseconds() const {
    const auto begin = std::chrono::steady_clock::now();
    bound_->launch(nullptr);
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
  }

 private:
  std::string name_;
  Array input_, output_;
  std::string_view recipe_;
  bool right_ = false;
  std::optional<BoundKernel> bound_;
};

std::vector<std::unique_ptr<Made>> made_by_all_cores(const std::vector<Layer>& layers,
                                                     const Options& options) {
  std::vector<std::unique_ptr<Made>> made(layers.size());
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> workers;
  for (unsigned i = 0; i < processors(); ++i)
    workers.emplace_back([&] {
      for (std::size_t at = next++; at < layers.size(); at = next++)
        made[at] = std::make_unique<Made>(layers[at], at + 1, options);
    });
  workers.clear();
  return made;
}

int run(const Options& options) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const std::vector<std::unique_ptr<Made>> made = made_by_all_cores(layers_of_resnet_50(), options);
  const double to_make = std::chrono::duration<double>(Clock::now() - begin).count();
  std::size_t bytes = 0;
  for (const auto& one : made) bytes = std::max(bytes, one->bytes());
  const Array values =
      random_array(DType::f32, {static_cast<std::int64_t>(bytes / sizeof(float))}, 1, RandomValues::uniform);
  DeviceMemory images(Device::cpu(), bytes), results(Device::cpu(), bytes);
  images.upload(values.data(), values.bytes());
  for (const auto& one : made) one->use(images, results);
  std::vector<double> in_pass(made.size(), 1e12), alone(made.size(), 1e12), passes;
  const auto until = Clock::now() + std::chrono::duration<double>(options.seconds);
  while (passes.size() < 3 || Clock::now() < until) {
    double sum = 0;
    for (std::size_t i = 0; i < made.size(); ++i) {
      const double one = made[i]->microseconds();
      in_pass[i] = std::min(in_pass[i], one);
      sum += one;
    }
    passes.push_back(sum);
  }
  constexpr int turns = 20;
  for (std::size_t i = 0; i < made.size(); ++i) {
    for (int turn = 0; turn < turns; ++turn) alone[i] = std::min(alone[i], made[i]->microseconds());
  }
  bool right = true;
  double sum_alone = 0;
  for (std::size_t i = 0; i < made.size(); ++i) {
    right &= made[i]->right();
    sum_alone += alone[i];
    fmt::print("{:34} {:8} {:9.1f} us in a pass, {:9.1f} alone{}\n", made[i]->name(), made[i]->recipe(),
               in_pass[i], alone[i], made[i]->right() ? "" : ", WRONG");
  }
  std::ranges::sort(passes);
  fmt::print(
      "SUM sparsity {} threads {} recipe {}: pass {:.0f} us at best, {:.0f} median of {}; alone {:.0f}; {}; "
      "made in {:.1f} s\n",
      options.sparsity, options.threads, options.recipe, passes.front(), passes[passes.size() / 2],
      passes.size(), sum_alone, right ? "all right" : "WRONG", to_make);
  return right ? 0 : 4;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  weft::Options options;
  CLI::App app("The pruned convolutions of ResNet-50, one after the other.");
  app.add_option("--sparsity", options.sparsity)->capture_default_str();
  app.add_option("--threads", options.threads)->capture_default_str();
  app.add_option("--recipe", options.recipe, "auto, or one that all layers take")->capture_default_str();
  app.add_option("--seconds", options.seconds, "of passes")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    return weft::run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "cpu_network: {}\n", error.what());
    return 2;
  }
}
