#include <weft/scheduler/hardware/device.h>
#include <weft/search/model/features.h>

#include <cmath>

namespace weft {
namespace {

using Problem = ProblemSummary;
using Device = DeviceNumbers;

double number(std::int64_t count) {
  return static_cast<double>(count);
}

constexpr std::array<Feature, feature_count> known_features{{
    {"M", true, [](const Problem& p, const Device&) { return number(p.m); }},
    {"N", true, [](const Problem& p, const Device&) { return number(p.n); }},
    {"K", true, [](const Problem& p, const Device&) { return number(p.k); }},
    {"density", false, [](const Problem& p, const Device&) { return p.density(); }},
    {"V", false, [](const Problem& p, const Device&) { return number(p.group_rows); }, {}, true},
    {"block", false, [](const Problem& p, const Device&) { return number(p.block); }, {}, true},
    {"kept_of", false, [](const Problem& p, const Device&) { return number(p.kept_of); }, {}, true},
    {"of_group", false, [](const Problem& p, const Device&) { return number(p.of_group); }, {}, true},
    {"row_mean", false, [](const Problem& p, const Device&) { return p.row_mean; }},
    {"row_variation", false, [](const Problem& p, const Device&) { return p.row_variation; }},
    {"element_bytes",
     false,
     [](const Problem& p, const Device&) { return number(static_cast<std::int64_t>(size_of(p.dtype))); },
     {},
     true},
    {"multiprocessors",
     false,
     [](const Problem&, const Device& d) { return number(d.multiprocessors); },
     {},
     true},
    {"shared_bytes", false, [](const Problem&, const Device& d) { return number(d.shared_bytes); }, {}, true},
    {"results", true, [](const Problem& p, const Device&) { return number(p.m) * number(p.n); },
     "(double)M * (double)N"},
}};

}  // namespace

DeviceNumbers device_numbers(const Target& target) {
  if (!target.is_gpu()) return {};
  return {ceilings_of(DType::f32, target).multiprocessors, target.shared_bytes_per_block};
}

std::span<const Feature> features() {
  return known_features;
}

FeatureValues features_of(const ProblemSummary& problem, const DeviceNumbers& device) {
  FeatureValues values{};
  for (std::size_t i = 0; i < feature_count; ++i) {
    const double value = known_features[i].of(problem, device);
    values[i] = known_features[i].is_size ? std::log2(std::max(1.0, value)) : value;
  }
  return values;
}

}  // namespace weft
