// What the predictor sees of a problem and of the device that will run it.
#pragma once

#include <weft/scheduler/hardware/target.h>
#include <weft/scheduler/recipes/parts/problem_summary.h>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace weft {

/// The device, as far as it decides which schedule is best.
struct DeviceNumbers {
  std::int64_t multiprocessors = 0;
  std::int64_t shared_bytes = 0;  ///< that a block can have
};
/// Those of the device that stands for the target (ceilings.h).
DeviceNumbers device_numbers(const Target& target);

/// How a program that decides gets hold of a feature.
struct Feature {
  std::string_view name;  ///< an identifier of C: "N", "density"
  /// A whole number that the tree knows by its logarithm, so that thresholds lie midway between sizes in
  /// ratio; else a number as it is.
  bool is_size = false;
  double (*of)(const ProblemSummary& problem, const DeviceNumbers& device);
  /// What a program computes it from, an expression of C over other features; empty: it has to be given.
  std::string_view from = {};
  /// Problems that differ in it are of different kinds: times of one say nothing of the other.
  bool is_kind = false;
};

inline constexpr std::size_t feature_count = 14;
using FeatureValues = std::array<double, feature_count>;

/// Those of STuning-DL, section IV (M, N, K, density, the format's own), how even rows are, the element type,
/// and the device; and the number of results, which decides how many blocks there are: a comparison of one
/// size at a time would need a branch for every step of the other. The order is that of ties between splits.
std::span<const Feature> features();
/// Sizes by their logarithm to base 2.
FeatureValues features_of(const ProblemSummary& problem, const DeviceNumbers& device);

}  // namespace weft
