#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/search/network/layer_classes.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace weft {
namespace {

constexpr double alike = 0.02;

/// All that layers of a class have in common beside their zeros.
auto key_of(const NetworkLayer& layer) {
  std::vector<std::int64_t> numbers = layer.weight.shape;
  numbers.insert(numbers.end(),
                 {layer.image_groups, layer.n.value_or(0), static_cast<std::int64_t>(layer.layout)});
  if (layer.convolution) {
    const Convolution& c = *layer.convolution;
    for (const auto& pair : {c.image, c.pad, c.stride, c.dilation})
      numbers.insert(numbers.end(), pair.begin(), pair.end());
    numbers.insert(numbers.end(), {c.batch, static_cast<std::int64_t>(c.layout)});
  }
  return std::tuple(layer.kind, layer.found->dtype, layer.found->format.text(), layer.bias.empty(),
                    layer.activation, std::move(numbers));
}

}  // namespace

std::vector<LayerClass> classes_of(const std::vector<NetworkLayer>& layers) {
  std::map<decltype(key_of(layers.front())), std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].is_candidate() && layers[i].found) groups[key_of(layers[i])].push_back(i);
  }
  const auto sparsity = [&](std::size_t i) { return layers[i].found->sparsity(); };
  std::vector<LayerClass> classes;
  for (auto& [key, numbers] : groups) {
    std::ranges::stable_sort(numbers, {}, sparsity);
    for (std::size_t begin = 0; begin < numbers.size();) {
      std::size_t end = begin;
      while (end < numbers.size() && sparsity(numbers[end]) - sparsity(numbers[begin]) <= alike) ++end;
      LayerClass one;
      one.layers.assign(numbers.begin() + static_cast<std::ptrdiff_t>(begin),
                        numbers.begin() + static_cast<std::ptrdiff_t>(end));
      std::swap(one.layers.front(), one.layers[one.layers.size() / 2]);
      std::sort(one.layers.begin() + 1, one.layers.end());
      for (const std::size_t layer : one.layers) one.calls += layers[layer].calls;
      classes.push_back(std::move(one));
      begin = end;
    }
  }
  const auto first = [](const LayerClass& one) { return std::ranges::min(one.layers); };
  std::ranges::sort(classes, {}, first);
  return classes;
}

std::string text_of_class(const NetworkLayer& representative) {
  const LayerWeights& found = *representative.found;
  std::string text =
      fmt::format("{} {}", fmt::join(representative.weight.shape, " x "), name_of(found.dtype));
  if (representative.convolution) {
    const Convolution& c = *representative.convolution;
    text += fmt::format(", {} x {}", c.image[0], c.image[1]);
    if (c.stride != std::array<std::int64_t, 2>{1, 1}) text += fmt::format(", stride {}", c.stride[0]);
  }
  return text + fmt::format(", {:.1f} % zero, {}", 100 * found.sparsity(), found.format.text());
}

}  // namespace weft
