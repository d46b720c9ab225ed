#include <fmt/format.h>
#include <weft/search/records/words.h>
#include <weft/search/report/network_part.h>

#include <algorithm>
#include <tuple>

namespace weft::report {
namespace {

std::string source_word(const Record& record, const std::string& name) {
  const auto found = record.source.find(name);
  return found == record.source.end() ? std::string() : found->second;
}

std::size_t count_of(const Record& record, const std::string& name, std::size_t otherwise) {
  return read_number<std::size_t>(source_word(record, name)).value_or(otherwise);
}

/// The layers of a class that were measured.
struct Measured {
  const ProblemTrials* searched = nullptr;
  std::vector<const ProblemTrials*> checked;
};

LayerTimes times_of(const std::string& name, std::int64_t n, const Measured& all) {
  const ProblemTrials& searched = all.searched != nullptr ? *all.searched : *all.checked.front();
  const Record& record = searched.of_layer->record;
  LayerTimes times{.name = name, .n = n, .layers = count_of(record, "layers", 1)};
  const auto calls = static_cast<double>(count_of(record, "calls", times.layers));
  if (searched.best == nullptr) return times;
  // What weft's own dense kernel takes says nothing of what a user has.
  const bool has_library = searched.dense && searched.dense->whose != BaselineOf::weft;
  if (has_library) times.dense = searched.dense->microseconds * calls;
  if (searched.standing) times.winner = searched.standing->winner;
  double sum = *searched.best_time(), count = 1;
  for (const ProblemTrials* one : all.checked) {
    // A layer that the class's kernel is wrong for stays dense.
    const std::optional<double> time =
        one->best == nullptr && has_library ? searched.dense->microseconds : one->best_time();
    if (one == &searched || !time) continue;
    sum += *time;
    ++count;
  }
  times.sparse = sum / count * calls;
  return times;
}

Bar bar_of(const LayerTimes& layer) {
  Bar bar{.name = layer.name};
  if (layer.layers > 1) bar.name += fmt::format(", {} alike", layer.layers);
  if (!layer.sparse) {
    bar.text = "no kernel was right";
    return bar;
  }
  if (!layer.dense) {
    bar.text = "no library; " + text_of_microseconds(*layer.sparse);
    return bar;
  }
  bar.value = *layer.dense / *layer.sparse;
  bar.text = fmt::format("{:.2f}", *bar.value);
  switch (layer.winner) {
    case Faster::kernel:
      bar.text += fmt::format(", saves {}", text_of_microseconds(*layer.dense - *layer.sparse));
      break;
    case Faster::dense:
      bar.text += ", stays dense";
      bar.look = Bar::Look::contrary;
      break;
    case Faster::none:
      bar.text += ", no verdict";
      bar.look = Bar::Look::faint;
      break;
  }
  return bar;
}

}  // namespace

std::vector<LayerTimes> layers_of(const std::vector<ProblemTrials>& problems) {
  const Record* first = nullptr;
  std::vector<std::tuple<std::string, std::int64_t, Measured>> classes;
  for (const ProblemTrials& problem : problems) {
    if (problem.of_layer == nullptr) continue;
    const Record& record = problem.of_layer->record;
    const std::string layer = source_word(record, "layer"), like = source_word(record, "like");
    if (first == nullptr) first = &record;
    if (record.measure != first->measure || record.target.gpu != first->target.gpu) continue;
    const std::string& name = like.empty() ? layer : like;
    const std::int64_t n = record.kernel == "conv2d" ? 0 : problem.summary.n;
    auto at = std::ranges::find_if(
        classes, [&](const auto& one) { return std::get<0>(one) == name && std::get<1>(one) == n; });
    if (at == classes.end()) at = classes.insert(at, {name, n, Measured{}});
    Measured& measured = std::get<2>(*at);
    if (like.empty())
      measured.searched = &problem;
    else
      measured.checked.push_back(&problem);
  }
  std::vector<LayerTimes> layers;
  for (const auto& [name, n, measured] : classes) layers.push_back(times_of(name, n, measured));
  return layers;
}

std::map<std::int64_t, NetworkSum> sums_of(const std::vector<LayerTimes>& layers) {
  std::map<std::int64_t, NetworkSum> sums;
  for (const LayerTimes& layer : layers) {
    if (layer.n > 0) sums[layer.n];
  }
  if (sums.empty() && !layers.empty()) sums[0];
  for (const LayerTimes& layer : layers) {
    for (auto& [n, sum] : sums) {
      if (layer.n > 0 && layer.n != n) continue;
      if (!layer.dense) {
        sum.unknown += layer.layers;
        continue;
      }
      sum.dense += *layer.dense;
      sum.chosen += layer.chosen().value_or(*layer.dense);
      switch (layer.winner) {
        case Faster::kernel: sum.sparse_layers += layer.layers; break;
        case Faster::dense: sum.dense_layers += layer.layers; break;
        case Faster::none: sum.undecided += layer.layers; break;
      }
    }
  }
  return sums;
}

std::string text_of(const std::map<std::int64_t, NetworkSum>& sums) {
  std::string text;
  for (const auto& [n, sum] : sums) {
    if (n > 0) text += fmt::format("n {}: ", n);
    if (sum.dense <= 0) {
      text += fmt::format("no verdict on {} layers: no library's dense time to compare with\n", sum.unknown);
      continue;
    }
    text += fmt::format("pruned layers dense {}, with the faster of both {}: {:.2f} times; {} faster sparse",
                        text_of_microseconds(sum.dense), text_of_microseconds(sum.chosen),
                        sum.dense / sum.chosen, sum.sparse_layers);
    if (sum.dense_layers > 0) text += fmt::format("; {} stay dense", sum.dense_layers);
    if (sum.undecided > 0) text += fmt::format("; {} without a verdict, taken as dense", sum.undecided);
    if (sum.unknown > 0) text += fmt::format("; {} not counted, without a library's dense time", sum.unknown);
    text += "\n";
  }
  return text;
}

std::vector<Bars> speed_ups_of(const std::vector<LayerTimes>& layers) {
  constexpr std::size_t most = 40;
  std::map<std::int64_t, std::vector<const LayerTimes*>> by_columns;
  for (const LayerTimes& layer : layers) by_columns[layer.n].push_back(&layer);
  std::vector<Bars> all;
  for (auto& [n, some] : by_columns) {
    Bars bars{.title = n > 0 ? fmt::format("Linear layers, n = {}", n) : "Convolutions",
              .label = "dense time / sparse time; the line is at 1",
              .mark = 1};
    const auto time = [](const LayerTimes* layer) {
      return layer->dense.value_or(layer->sparse.value_or(0));
    };
    if (some.size() > most) {
      std::ranges::stable_sort(some, std::greater(), time);
      bars.title += fmt::format(", the {} of {} that take longest", most, some.size());
      some.resize(most);
    }
    for (const LayerTimes* layer : some) bars.bars.push_back(bar_of(*layer));
    all.push_back(std::move(bars));
  }
  return all;
}

}  // namespace weft::report
