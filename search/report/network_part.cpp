#include <fmt/format.h>
#include <weft/search/report/network_part.h>

#include <algorithm>
#include <map>

namespace weft::report {
namespace {

/// Layers that have a dense time beside them, by their columns.
std::map<std::int64_t, std::vector<const LayerTimes*>> compared(const std::vector<LayerTimes>& layers) {
  std::map<std::int64_t, std::vector<const LayerTimes*>> all;
  for (const LayerTimes& layer : layers) {
    if (layer.dense) all[layer.n].push_back(&layer);
  }
  return all;
}

/// The end of a long name says more than its beginning.
std::string short_name(const std::string& name) {
  constexpr std::size_t most = 22;
  return name.size() <= most ? name : "…" + name.substr(name.size() - most + 1);
}

}  // namespace

std::vector<LayerTimes> layers_of(const std::vector<ProblemTrials>& problems) {
  std::vector<LayerTimes> layers;
  for (const ProblemTrials& problem : problems) {
    const Record& first = problem.trials.front()->record;
    const auto name = first.source.find("layer");
    if (name == first.source.end() || problem.best == nullptr) continue;
    LayerTimes layer{.name = name->second,
                     .n = first.kernel == "conv2d" ? 0 : problem.summary.n,
                     .best = *problem.best_time()};
    if (problem.dense) layer.dense = problem.dense->microseconds;
    // A library's time does not depend on which weights are zero.
    for (const ProblemTrials& other : problems) {
      const Record& record = other.trials.front()->record;
      if (!layer.dense && other.dense && record.kernel == first.kernel && record.problem == first.problem)
        layer.dense = other.dense->microseconds;
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

std::string network_verdict(const std::vector<LayerTimes>& layers) {
  const auto by_columns = compared(layers);
  std::string text;
  for (const auto& [n, all] : by_columns) {
    double dense = 0, chosen = 0;
    std::size_t faster = 0;
    for (const LayerTimes* layer : all) {
      dense += *layer->dense;
      chosen += std::min(*layer->dense, layer->best);
      faster += layer->best < *layer->dense ? 1 : 0;
    }
    text += fmt::format(
        "{}: {} layers, dense {:.1f} us, with the faster of both {:.1f} us: {:.2f} times; {} faster sparse\n",
        n > 0 ? fmt::format("n {}", n) : "convolutions", all.size(), dense, chosen, dense / chosen, faster);
  }
  return text;
}

Bars speed_up_of_layers(const std::vector<LayerTimes>& layers) {
  Bars bars{.title = "Speed-up over dense, a bar a layer", .label = "dense time / sparse time"};
  const auto by_columns = compared(layers);
  std::int64_t most = 0;
  for (const auto& [n, all] : by_columns) {
    if (n > 0 && (most == 0 || all.size() > by_columns.at(most).size())) most = n;
  }
  for (const auto& [n, all] : by_columns) {
    if (n > 0 && n != most) continue;
    for (const LayerTimes* layer : all)
      bars.bars.emplace_back(short_name(layer->name), *layer->dense / layer->best);
  }
  return bars;
}

}  // namespace weft::report
