#include <fmt/format.h>
#include <weft/search/network/layer_problem.h>
#include <weft/search/network/network_tuning.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

/// The first look at a class, and what each further one multiplies its trials by.
constexpr std::int64_t first_trials = 4, growth = 3;

/// One class at one number of columns, with what a search of it needs.
class Search {
 public:
  Search(const Network& network, LayerClass layers, std::int64_t n) : network_(&network) {
    times.layers = std::move(layers);
    times.n = n;
    times.own.resize(times.layers.layers.size());
  }

  ClassTimes times;

  bool is_done(std::int64_t most_trials) const { return times.is_exhausted || times.trials >= most_trials; }
  /// Whether its first trials, which may have met the end of the time, are still to be made.
  bool is_waiting() const { return looks_ == 0 || (times.trials == 0 && !times.is_exhausted); }
  /// How much a further look may gain.
  double weight() const {
    const double time =
        times.verdict ? times.verdict->microseconds * static_cast<double>(times.layers.calls) : 0;
    return time / std::pow(2.0, looks_);
  }

  /// More trials of the representative.
  bool look(const Target& target, RecordFile& file, const NetworkTuneOptions& options, double seconds,
            const TuneHooks& hooks) {
    TrialProblem problem = problem_of(layer_of(0), weights(0), times.n, layout_on(layer_of(0), target));
    name_place(problem, *network_, times.layers, 0, options.columns);
    TuneOptions with = options.tune;
    std::int64_t trials = first_trials;
    for (int i = 0; i < looks_; ++i) trials *= growth;
    // A class that was not looked at has no verdict: one trial is made whatever the time.
    const bool late = seconds <= 0;
    with.trials = late ? 1 : std::clamp<std::int64_t>(times.trials + trials, 1, options.most_trials);
    with.seconds = late ? std::numeric_limits<double>::infinity() : seconds;
    with.any_format = true;
    ++looks_;
    try {
      const std::vector<Space> spaces = spaces_of(problem, target, options);
      const TuneResult result = tune(problem, spaces, target, file, with, hooks);
      take(result, problem, target, file);
      times.is_exhausted =
          !result.interrupted && result.status.trials < with.trials && result.status.seconds < with.seconds;
      return !result.interrupted;
    } catch (const UserError& error) {
      // One class without a kernel is no reason to lose the others.
      times.failure = fmt::format("{}: {}", error.report().what, error.report().found);
      times.is_exhausted = true;
      return true;
    }
  }

  /// The kernel of another layer of the class by the best point, with its own weights.
  bool check(std::size_t member, const Target& target, RecordFile& file, const NetworkTuneOptions& options,
             const TuneHooks& hooks) {
    TrialProblem problem =
        problem_of(layer_of(member), weights(member), times.n, layout_on(layer_of(member), target));
    name_place(problem, *network_, times.layers, member, options.columns);
    TuneOptions with = options.tune;
    with.trials = 1;
    with.any_format = true;
    with.baselines = false;
    with.only = {{times.best->recipe, times.best->config, times.best->pattern.kind}};
    try {
      const TuneResult result = tune(problem, spaces_of(problem, target, options), target, file, with, hooks);
      if (result.best)
        times.own[member] = result.best->time_of_correct();
      else if (!result.interrupted)
        keep_dense(member, "no kernel was right");
      return !result.interrupted;
    } catch (const UserError& error) {
      keep_dense(member, error.report().what);
      return true;
    }
  }

 private:
  const NetworkLayer& layer_of(std::size_t member) const {
    return network_->layers()[times.layers.layers[member]];
  }

  std::shared_ptr<const WeightMatrix> weights(std::size_t member) const {
    return std::make_shared<const WeightMatrix>(weights_of_kernel(layer_of(member)));
  }

  static std::vector<Space> spaces_of(TrialProblem& problem, const Target& target,
                                      const NetworkTuneOptions& options) {
    const std::vector<Format> formats = searched_formats(*problem.what.matrix, target, options.formats);
    problem.what.format = formats.front();
    return spaces_for(problem.what, formats, target);
  }

  /// The class's point is none for this layer's weights.
  void keep_dense(std::size_t member, const std::string& why) {
    times.own[member] = times.verdict->dense->microseconds;
    times.failure +=
        fmt::format("{}{} stays dense: {}", times.failure.empty() ? "" : "; ", layer_of(member).name, why);
  }

  void take(const TuneResult& result, const TrialProblem& problem, const Target& target,
            const RecordFile& file) {
    times.trials = result.status.trials;
    times.best = result.best;
    if (!result.best) {
      times.failure =
          result.status.trials == 0 ? "the time was over before a kernel was tried" : "no kernel was right";
      return;
    }
    times.failure.clear();
    times.verdict = verdict_of(result, problem, target, file.records());
    times.own[0] = times.verdict->microseconds;
  }

  const Network* network_;
  int looks_ = 0;
};

/// Dense products take time by their size, as far as anything is known before.
double work_of(const Network& network, const ClassAtColumns& one) {
  const LayerWeights& found = *network.layers()[one.layers.representative()].found;
  return static_cast<double>(found.elements) * static_cast<double>(std::max<std::int64_t>(one.n, 16)) *
         static_cast<double>(one.layers.calls);
}

std::vector<ClassAtColumns> at_columns(Network& network, const std::vector<std::int64_t>& columns) {
  for (NetworkLayer& layer : network.layers()) {
    if (layer.is_candidate()) layer.left_out = why_not_searched(layer);
  }
  std::vector<ClassAtColumns> all;
  for (const LayerClass& one : classes_of(network.layers())) {
    const NetworkLayer& layer = network.layers()[one.representative()];
    if (layer.convolution) {
      const auto output = layer.convolution->output();
      all.push_back({one, layer.convolution->batch * output[0] * output[1]});
    } else if (!columns.empty()) {
      for (const std::int64_t n : columns) all.push_back({one, n});
    } else if (layer.n) {
      all.push_back({one, *layer.n});
    } else {
      throw UserError("the number of columns of a linear layer is not known", layer.name,
                      "no n in a network file, and none in the options",
                      "NetworkTuneOptions::columns, --n 1,8,512");
    }
  }
  if (network.layers().empty())
    throw UserError("a network has no layers", network.path(),
                    fmt::format("{} tensors, none with the shape of a weight", network.other_tensors()),
                    "a folder with .safetensors, .onnx, .npz, .npy, .mtx or .smtx files, or one such file");
  if (all.empty()) {
    const NetworkLayer& first = network.layers().front();
    throw UserError(
        "a network has no layer to look for kernels for", network.path(),
        fmt::format("all layers left out; {}: {}", first.name, first.left_out),
        "pruned weights of linear layers and 2-D convolutions; weft model inspect says why of each");
  }
  // What takes longest is seen first, in case the time ends early.
  std::ranges::stable_sort(all, std::greater(), [&](const auto& one) { return work_of(network, one); });
  return all;
}

}  // namespace

std::optional<double> ClassTimes::dense_time() const {
  // What weft's own dense kernel takes says nothing of what a user has.
  if (!verdict || !verdict->dense || verdict->dense->whose == BaselineOf::weft) return std::nullopt;
  return verdict->dense->microseconds * static_cast<double>(layers.calls);
}

bool ClassTimes::stays_dense() const {
  return !verdict || !verdict->standing || verdict->standing->winner != Faster::kernel;
}

std::optional<double> ClassTimes::chosen_time() const {
  const auto dense = dense_time();
  if (stays_dense()) return dense;
  double sum = 0, count = 0;
  for (const auto& one : own) {
    if (!one) continue;
    sum += *one;
    ++count;
  }
  return count > 0 ? std::optional(sum / count * static_cast<double>(layers.calls)) : dense;
}

std::vector<ClassAtColumns> classes_at_columns(Network& network, const std::vector<std::int64_t>& given,
                                               CallPlace place) {
  return user_call(place, [&] { return at_columns(network, given); });
}

NetworkTimes tune_network(Network& network, const Target& target, RecordFile& file,
                          const NetworkTuneOptions& options, const NetworkTuneHooks& hooks, CallPlace place) {
  return user_call(place, [&] {
    const Clock::time_point start = Clock::now();
    const auto left = [&] {
      return options.seconds - std::chrono::duration<double>(Clock::now() - start).count();
    };
    std::vector<Search> searches;
    for (const ClassAtColumns& one : at_columns(network, options.columns))
      searches.emplace_back(network, one.layers, one.n);
    NetworkTimes result;
    const auto hooks_of = [&](const Search& search, std::size_t number) {
      TuneHooks inner;
      inner.stop = hooks.stop;
      inner.progress = [&hooks, &search, number, all = searches.size()](const TuneStatus& status) {
        if (hooks.progress) hooks.progress(number, all, search.times, status);
      };
      return inner;
    };
    const auto next = [&]() -> Search* {
      Search* best = nullptr;
      for (Search& search : searches) {
        if (search.is_done(options.most_trials)) continue;
        if (search.is_waiting()) return &search;
        if (best == nullptr || search.weight() > best->weight()) best = &search;
      }
      return best;
    };
    while (!result.interrupted) {
      Search* search = next();
      if (search == nullptr || (left() <= 0 && !search->is_waiting())) break;
      const auto number = static_cast<std::size_t>(search - searches.data()) + 1;
      result.interrupted = !search->look(target, file, options, left(), hooks_of(*search, number));
    }
    for (Search& search : searches) {
      const auto number = static_cast<std::size_t>(&search - searches.data()) + 1;
      const bool measured = options.tune.measure.measure != Measure::model;
      for (std::size_t i = 1; i < search.times.own.size() && measured && !search.times.stays_dense(); ++i) {
        if (result.interrupted) break;
        result.interrupted = !search.check(i, target, file, options, hooks_of(search, number));
      }
    }
    for (Search& search : searches) result.classes.push_back(std::move(search.times));
    return result;
  });
}

}  // namespace weft
