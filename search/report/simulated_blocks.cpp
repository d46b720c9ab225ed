#include <fmt/format.h>
#include <weft/backends/simulator/device.h>
#include <weft/formats/io/read.h>
#include <weft/formats/random.h>
#include <weft/scheduler/recipes/blocks/hb_ell_swmma.h>
#include <weft/search/measure/verify.h>
#include <weft/search/report/simulated_blocks.h>
#include <weft/search/spaces/problems.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace weft {
namespace {

constexpr const char* target_name = "sm_70_swmma";
constexpr std::int64_t few_products = std::int64_t{1} << 24;
constexpr std::int64_t places_of_figure = 16;  ///< K of Figure 5
constexpr std::uint64_t seed = 1;

/// So many places with a value, at random.
WeightMatrix random_matrix(std::int64_t rows, std::int64_t columns, double density, std::uint64_t number) {
  Random random(number);
  const std::int64_t places = rows * columns;
  std::int64_t left = std::llround(density * static_cast<double>(places));
  Array dense(DType::f16, {rows, columns});
  for (std::int64_t i = 0; i < places; ++i) {
    const bool chosen = random.below(places - i) < left;
    left -= chosen ? 1 : 0;
    dense.set(i, chosen ? (random.uniform() + 0.125) * (random.below(2) == 0 ? 1 : -1) : 0);
  }
  return from_dense(dense, "made");
}

WeightMatrix weights_of(const SuiteCase& chosen, const RealWeights& real, std::string& source) {
  const SuiteProblem& problem = chosen.problem;
  const RealWeights::Entry* entry = real.find(problem.m, problem.k, chosen.sparsity);
  source = entry == nullptr ? "made" : entry->name;
  if (entry == nullptr) return random_matrix(problem.m, problem.k, 1 - chosen.sparsity, seed);
  const WeightMatrix found = read(entry->path);
  WeightMatrix weights =
      found.pattern_only ? with_random_values(found, DType::f16, seed) : converted(found, DType::f16);
  weights.shape = {weights.rows, weights.columns};
  return weights;
}

SimulatedTime time_of(const SuiteProblem& problem, const WeightMatrix& weights, const Format& format,
                      int orders) {
  Epilogue epilogue;
  epilogue.alpha = epilogue.beta = true;
  const Target& target = target_named(target_name);
  const auto packed = std::make_shared<const SparseTensor>(pack(weights, format));
  const Kernel kernel = compile(hb_ell_swmma(
      spmm_algorithm(problem.m, problem.k, Extent(problem.n), DType::f16, epilogue), packed, target));
  const Device device = Device::simulator(target_name);
  const Array b = random_array(DType::f16, {problem.k, problem.n}, seed + 1);
  const simulator::TimeParameters& parameters = simulator::time_parameters_of(target.sm);
  const bool few = problem.m * problem.n * problem.k <= few_products;
  SimulatedTime time;
  time.blocks = packed->array("bcols").size();
  std::vector<double> clocks;
  for (int order = 0; order < (few ? orders : 1); ++order) {
    simulator::options(device).launch.seed = static_cast<std::uint64_t>(order);
    Array own = b, c = random_array(DType::f16, {problem.m, problem.n}, seed + 2);
    const Verification verification =
        verify(kernel, device, {{{"B", &own}, {"C", &c}}, {{"alpha", 1}, {"beta", 1}}});
    if (!verification.passed) time.wrong = verification.text();
    const simulator::TimeEstimate& estimate = simulator::last_estimate(device);
    time.bound = estimate.bound;
    clocks.push_back((estimate.microseconds - parameters.launch_microseconds) * 1e3 * parameters.gigahertz);
  }
  std::ranges::sort(clocks);
  time.clocks = clocks[clocks.size() / 2];
  return time;
}

/// Densities of which files write a digit or two.
double rounded(double density) {
  return std::round(1e6 * density) / 1e6;
}

report::Series line_of(const std::vector<SimulatedBlocks>& results, double density, bool hybrid) {
  report::Series series{.name = fmt::format("{}, density {}", hybrid ? "HB-ELL" : "one width", density),
                        .kind = report::Series::Kind::line,
                        .points = {}};
  for (const SimulatedBlocks& result : results) {
    const SuiteProblem& p = result.chosen.problem;
    if (rounded(1 - result.chosen.sparsity) != density || p.k != places_of_figure) continue;
    const double clocks = hybrid ? result.hybrid.clocks : result.uniform.clocks;
    series.points.push_back(
        {static_cast<double>(p.m), clocks, fmt::format("{}x{}x{}: {:.0f}", p.m, p.k, p.n, clocks)});
  }
  return series;
}

}  // namespace

SimulatedBlocks simulate_blocks(const SuiteCase& chosen, const RealWeights& real, int orders) {
  SimulatedBlocks result;
  result.chosen = chosen;
  const SuiteProblem& problem = chosen.problem;
  const WeightMatrix weights = weights_of(chosen, real, result.source);
  result.density = 1 - weights.sparsity();
  const Format hybrid = formats::hb_ell({.step = 4});
  result.uniform = time_of(problem, weights, formats::hb_ell({.step = 4, .uniform = true}), orders);
  result.hybrid = time_of(problem, weights, hybrid, orders);
  result.dense = time_of(problem, random_matrix(problem.m, problem.k, 1, seed + 3), hybrid, orders);
  return result;
}

report::Chart chart_of(const std::vector<SimulatedBlocks>& results) {
  report::Chart chart{.title = "C = A B + C with K = 16 on the simulated V100, 512 threads a block",
                      .x_label = "M = N",
                      .y_label = "clocks"};
  chart.logarithmic_x = chart.logarithmic_y = true;
  std::vector<double> densities;
  for (const SimulatedBlocks& result : results) {
    const double density = rounded(1 - result.chosen.sparsity);
    if (std::ranges::find(densities, density) == densities.end()) densities.push_back(density);
  }
  for (const double density : densities) {
    for (const bool hybrid : {false, true}) chart.series.push_back(line_of(results, density, hybrid));
  }
  return chart;
}

std::string json_line(const SimulatedBlocks& result, const std::string& suite) {
  using Json = nlohmann::ordered_json;
  const SuiteProblem& problem = result.chosen.problem;
  Json entries = Json::array();
  for (const auto& [name, time] : {std::pair("one width", &result.uniform),
                                   std::pair("hb_ell", &result.hybrid), std::pair("dense", &result.dense)})
    entries.push_back({{"name", name},
                       {"clocks", time->clocks},
                       {"bound", time->bound},
                       {"blocks", time->blocks},
                       {"wrong", !time->wrong.empty()}});
  return Json{{"suite", suite},
              {"device", device_of_simulated_suites},
              {"problem", {{"id", problem.id}, {"M", problem.m}, {"K", problem.k}, {"N", problem.n}}},
              {"density", result.density},
              {"weights", result.source},
              {"entries", entries}}
      .dump();
}

}  // namespace weft
