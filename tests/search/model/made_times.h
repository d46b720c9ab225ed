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
  for (const std::int64_t width : {64, 128, 256, 512}) {
    for (const std::int64_t stages : {2, 3, 4})
      table.configurations.push_back({"shfl_bw", {{"tile_n", width}, {"stages", stages}}});
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

/// The same products on kernels of tiles, each of a time that follows from steps, whole waves and the bytes
/// of the operands by numbers of its own; every time is off by up to `noise`.
inline TimingTable tiled_times(std::size_t matrices, double noise) {
  TimingTable table = made_times(matrices, 0, 29);
  table.configurations.clear();
  for (const std::int64_t rows : {32, 64}) {
    for (const std::int64_t width : {32, 64, 128, 256}) {
      for (const std::int64_t sharers : {1, 2})
        table.configurations.push_back(
            {"shfl_bw", {{"tile_m", rows}, {"tile_n", width}, {"tile_k", 32}, {"groups", sharers}}});
    }
  }
  Random random(3);
  for (TimingTable::Problem& problem : table.problems) {
    problem.microseconds.clear();
    const ProblemSummary& of = problem.summary;
    const auto tiles = [](std::int64_t size, std::int64_t tile) {
      return static_cast<double>((size + tile - 1) / tile);
    };
    for (const Configuration& one : table.configurations) {
      const std::int64_t rows = one.point.at("tile_m"), width = one.point.at("tile_n");
      const auto sharers = static_cast<double>(one.point.at("groups"));
      const auto area = static_cast<double>(rows * width);
      const double steps = std::ceil(of.row_mean / 32) / sharers;
      const double all = tiles(of.m, rows) * tiles(of.n, width) * sharers;
      const double resident = area > 4096 ? 1 : 4;
      const double time = 2 + sharers + 0.05 * steps +
                          (0.02 * area / 1024 + 0.05) * std::ceil(all / (132 * resident)) * steps +
                          1e-6 * static_cast<double>(of.m * of.n);
      problem.microseconds.push_back(time * (1 + noise * random.uniform()));
    }
  }
  return table;
}

}  // namespace weft
