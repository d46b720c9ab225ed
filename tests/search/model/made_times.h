// Times that nobody measured: of problems and configurations with a rule behind them, and noise on top.
#pragma once

#include <weft/search/model/draw.h>
#include <weft/search/model/timing_table.h>

#include <cmath>
#include <string>

namespace weft {

inline std::int64_t power_of_two(std::size_t exponent) {
  return std::int64_t{1} << exponent;
}

/// Products of row groups: `matrices` of them, each with three widths N. Twelve configurations; which one is
/// fastest follows from N, V and the density, and every time is off by up to `noise`.
inline TimingTable made_times(std::size_t matrices, double noise, std::uint64_t seed) {
  Random random(seed);
  TimingTable table;
  for (const std::int64_t columns : {64, 128, 256, 512}) {
    for (const std::int64_t stages : {2, 3, 4})
      table.configurations.push_back({"shfl_bw", {{"tile_n", columns}, {"stages", stages}}});
  }
  for (std::size_t i = 0; i < matrices; ++i) {
    ProblemSummary summary;
    summary.m = 64 * power_of_two(draw_below(random, 7));
    summary.k = 64 * power_of_two(draw_below(random, 7));
    summary.group_rows = 32 * power_of_two(draw_below(random, 3));
    summary.dtype = DType::f16;
    const double density = 0.05 + 0.45 * random.uniform();
    summary.stored =
        summary.m * std::max<std::int64_t>(1, std::llround(density * static_cast<double>(summary.k)));
    summary.row_mean = static_cast<double>(summary.stored) / static_cast<double>(summary.m);
    const std::size_t narrowest = draw_below(random, 7);
    for (std::size_t width = 0; width < 3; ++width) {
      TimingTable::Problem problem;
      problem.summary = summary;
      problem.summary.n = 64 * power_of_two((narrowest + 2 * width) % 7);
      problem.summary.dense_elements = problem.summary.k * problem.summary.n;
      problem.target = "sm_90a";
      problem.device = device_numbers(target_named("sm_90a"));
      problem.features = features_of(problem.summary, problem.device);
      problem.matrix = "matrix " + std::to_string(i);
      problem.name = problem.matrix + ", N=" + std::to_string(problem.summary.n);
      problem.usual = 0;
      const double wanted = std::min(512.0, std::max(64.0, static_cast<double>(problem.summary.n) * 64 /
                                                               static_cast<double>(summary.group_rows)));
      const std::int64_t stages = problem.summary.density() < 0.2 ? 2 : summary.group_rows >= 64 ? 4 : 3;
      for (const Configuration& one : table.configurations) {
        const double off = std::abs(std::log2(static_cast<double>(one.point.at("tile_n")) / wanted)) +
                           0.3 * std::abs(static_cast<double>(one.point.at("stages") - stages));
        problem.microseconds.push_back(10 * (1 + 0.25 * off) * (1 + noise * random.uniform()));
      }
      table.problems.push_back(problem);
    }
  }
  return table;
}

}  // namespace weft
