#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/backends/export/network_package.h>
#include <weft/search/choice/choice.h>
#include <weft/search/measure/trial_problem.h>
#include <weft/search/network/layer_problem.h>
#include <weft/search/network/network_export.h>
#include <weft/search/trials/standing.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace weft {
namespace {

/// Sizes that one kernel of a layer takes.
struct Sizes {
  std::int64_t least = 1, most = 1;
};

std::vector<Sizes> sizes_of(const NetworkLayer& layer, const NetworkExportOptions& options) {
  if (layer.convolution) return {{}};
  std::vector<std::int64_t> ends = options.columns;
  if (ends.empty() && layer.n) ends = {1, *layer.n};
  if (ends.empty())
    throw UserError("the number of columns of a linear layer is not known", layer.name,
                    "no n in a network file, and none in the options",
                    "NetworkExportOptions::columns, --n 1,8,512");
  std::ranges::sort(ends);
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  std::vector<Sizes> sizes;
  for (const std::int64_t end : ends) sizes.push_back({sizes.empty() ? 1 : sizes.back().most + 1, end});
  return sizes;
}

std::vector<std::string> targets_of(const NetworkExportOptions& options, PackageDevice device) {
  std::vector<std::string> names;
  std::ranges::copy_if(options.targets, std::back_inserter(names), [&](const std::string& name) {
    return target_named(name).is_gpu() == (device == PackageDevice::gpu);
  });
  return names;
}

/// The target whose trials say what is fast on this one.
const Target& measured_target(const Target& target) {
  return target.is_gpu() ? target : target_named("cpu");
}

class Exporter {
 public:
  Exporter(const NetworkExportOptions& options, const NetworkLayer& layer)
      : options_(options), layer_(layer) {
    matrix_ = std::make_shared<const WeightMatrix>(weights_of_kernel(layer));
  }

  /// By the measured times, at every size that has some; false where nothing was measured.
  bool stays_dense() const {
    bool known = false;
    for (const Sizes& size : sizes_of(layer_, options_)) {
      for (const std::string& name : options_.targets) {
        const auto best = best_at(size.most, target_named(name));
        const Baseline* dense = best ? dense_beside(*best) : nullptr;
        if (dense == nullptr || dense->whose != BaselineOf::library) continue;
        known = true;
        if (*best->time_of_correct() < dense->microseconds) return false;
      }
    }
    return known;
  }

  std::vector<PackageKernel> kernels(PackageDevice device) const {
    std::vector<PackageKernel> kernels;
    for (const std::string& name : targets_of(options_, device)) {
      Target target = target_named(name);
      if (!target.is_gpu()) target.threads = options_.threads;
      for (const Sizes& size : sizes_of(layer_, options_)) {
        const std::int64_t run = target.is_gpu() ? columns_of_runs() : 1;
        if (run > 1 && size.most % run == 0)
          kernels.push_back({kernel(size, target, run), size.least, size.most});
        kernels.push_back({kernel(size, target, 1), size.least, size.most});
      }
    }
    return kernels;
  }

  const std::vector<float>& scales() const { return matrix_->row_scale; }

  /// All that the layer's package for such a device depends on.
  std::string made_from(PackageDevice device) const {
    const std::vector<std::string> targets = targets_of(options_, device);
    std::string text = fmt::format(
        "{}\n{}\n{}\n", layer_.name, hash_of_pattern(*matrix_),
        hash_of({reinterpret_cast<const char*>(matrix_->values.data()), matrix_->values.bytes()}));
    const std::span<const std::byte> scales = std::as_bytes(std::span(matrix_->row_scale));
    if (!scales.empty())
      text += hash_of({reinterpret_cast<const char*>(scales.data()), scales.size()}) + '\n';
    text += fmt::format("{}\n{}\n", fmt::join(targets, ","), options_.threads);
    text += fmt::format("{}\n", name_of(layer_.activation));
    if (layer_.layout != ProductLayout::nk) text += fmt::format("{}\n", name_of(layer_.layout));
    for (const Format& one : options_.formats) text += one.text() + "\n";
    for (const Sizes& size : sizes_of(layer_, options_)) {
      text += fmt::format("{} to {}\n", size.least, size.most);
      for (const std::string& name : targets) {
        const auto best = best_at(size.most, target_named(name));
        if (best) text += best->recipe + " " + text_of_config(*best) + " " + best->pattern.kind + "\n";
      }
    }
    return text;
  }

 private:
  TrialProblem problem_at(std::int64_t n, const Target& target) const {
    return undrawn_problem_of(layer_, matrix_, n, layout_on(layer_, target));
  }

  /// The fastest right trial of the layer's weights at so many columns.
  std::optional<Record> best_at(std::int64_t n, const Target& target) const {
    if (options_.records.empty()) return std::nullopt;
    const Target& measured = measured_target(target);
    const Record common =
        record_for(problem_at(n, measured), measured, measured.is_gpu() ? "gpu" : "cpu", nullptr);
    const Record* best = nullptr;
    for (const auto& [record, line] : options_.records) {
      const auto time = record.time_of_correct();
      const bool same = time && record.kernel == common.kernel && record.problem == common.problem &&
                        record.pattern.hash == common.pattern.hash &&
                        record.target.name == common.target.name && record.measure == common.measure;
      if (same && (best == nullptr || *time < *best->time_of_correct())) best = &record;
    }
    return best != nullptr ? std::optional(*best) : std::nullopt;
  }

  /// Formats that were asked for beside those that are chosen among in any case.
  ChoiceOptions choosing(const Target& target) const {
    ChoiceOptions choosing{.image_groups = layer_.image_groups};
    if (!options_.formats.empty()) choosing.formats = searched_formats(*matrix_, target, options_.formats);
    return choosing;
  }

  /// Columns of 16 bytes, where rows of columns lie in memory: kernels that know of no multiple read and
  /// write them one by one.
  std::int64_t columns_of_runs() const {
    if (layer_.convolution || layer_.layout == ProductLayout::nk) return 1;
    return 16 / static_cast<std::int64_t>(size_of(matrix_->values.dtype()));
  }

  /// For multiples of so many columns.
  Kernel kernel(const Sizes& size, const Target& target, std::int64_t multiple) const {
    const Algorithm exact = problem_at(size.most, target).what.algorithm;
    const KernelOptions with{.threads = target.is_gpu() ? 0 : options_.threads};
    // The size of a package for one alone is open all the same, so that callers give it.
    const bool fixed =
        layer_.convolution || (size.least == size.most && sizes_of(layer_, options_).size() > 1);
    std::optional<Schedule> chosen = of_trials(exact, size.most, target);
    if (!chosen) {
      Choice choice = choose(exact, *matrix_, target, choosing(target));
      chosen = first_that_fits(
          choice, [&](const Way& way) { return schedule_of_way(way, exact, *matrix_, nullptr, target); });
    }
    if (fixed) return compile(*chosen, with);
    const Algorithm open = with_size(exact, "n", Extent::any("N", multiple));
    try {
      Schedule replayed(open, chosen->shared_weights(), target);
      for (const Step& step : chosen->steps()) replayed.apply(step);
      return compile(replayed, with);
    } catch (const UserError&) {
      // The steps are for that size alone.
      return auto_kernel(open, *matrix_, target, choosing(target), with).kernel;
    }
  }

  /// By the recipe and the point that were measured to be the fastest.
  std::optional<Schedule> of_trials(const Algorithm& algorithm, std::int64_t n, const Target& target) const {
    const auto best = best_at(n, target);
    if (!best) return std::nullopt;
    try {
      const SpaceProblem what{algorithm, matrix_, parse_format(best->pattern.kind)};
      return space_of(best->recipe, what, target).schedule(best->config);
    } catch (const UserError&) {
      // It was made for another level's vectors; the choice knows one that fits.
      return std::nullopt;
    }
  }

  const NetworkExportOptions& options_;
  const NetworkLayer& layer_;
  std::shared_ptr<const WeightMatrix> matrix_;
};

std::vector<std::int64_t> settings_of(const NetworkLayer& layer) {
  if (!layer.convolution) return {};
  const Convolution& c = *layer.convolution;
  return {c.stride[0], c.stride[1], c.pad[0], c.pad[1], c.dilation[0], c.dilation[1]};
}

}  // namespace

ExportedNetwork export_network(const std::string& folder, Network& network,
                               const NetworkExportOptions& options, const NetworkExportHooks& hooks,
                               CallPlace place) {
  return user_call(place, [&] {
    NetworkPackage package(folder, options.package);
    ExportedNetwork result;
    std::vector<const NetworkLayer*> layers;
    for (NetworkLayer& layer : network.layers()) {
      if (!layer.is_candidate()) continue;
      layer.left_out = why_not_searched(layer);
      if (layer.is_candidate())
        layers.push_back(&layer);
      else
        result.refused.emplace_back(layer.name, layer.left_out);
    }
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const NetworkLayer& layer = *layers[i];
      try {
        const Exporter exporter(options, layer);
        if (!options.all && exporter.stays_dense()) {
          result.stay_dense.push_back(layer.name);
          continue;
        }
        bool told = false;
        for (const PackageDevice device : {PackageDevice::processor, PackageDevice::gpu}) {
          if (targets_of(options, device).empty()) continue;
          const std::string made_from = exporter.made_from(device);
          const bool kept = package.is_written(layer.name, device, made_from);
          if (hooks.progress && !std::exchange(told, true)) hooks.progress(i + 1, layers.size(), layer, kept);
          if (kept)
            package.keep(layer.name, device);
          else
            package.add({layer.name, std::string(name_of(layer.kind)), exporter.kernels(device),
                         std::string(name_of(layer.activation)), settings_of(layer), exporter.scales(),
                         std::string(name_of(layer.layout))},
                        made_from);
        }
        result.layers.push_back(layer.name);
      } catch (const UserError& error) {
        // A layer without a kernel stays dense, and the others are exported.
        result.refused.emplace_back(layer.name,
                                    fmt::format("{}: {}", error.report().what, error.report().found));
      }
    }
    if (result.layers.empty())
      throw UserError(
          "no layer of the network goes into the package", network.path(),
          fmt::format("{} stay dense, {} without a kernel{}", result.stay_dense.size(), result.refused.size(),
                      result.refused.empty() ? "" : ": " + result.refused.front().second),
          "layers for which sparse wins, or NetworkExportOptions::all, --all, for those that do not");
    package.finish();
    return result;
  });
}

}  // namespace weft
