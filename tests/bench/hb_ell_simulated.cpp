// Figure 5 of Wu et al., "Generic, Sparse Tensor Core for Neural Networks": clocks of C = A B + C on the
// simulated V100 with the sparse tensor core, by Algorithm 1 over HB-ELL and over one ELL width for the whole
// matrix, for which Zhu et al.'s sparse tensor core has the instruction with PW = 4 alone; beside them a
// matrix without zeros, by the dense instruction. Every result is compared with the reference.
//
//   hb_ell_simulated --suite hb_ell_simulated.json --plot hb_ell_simulated.svg
//   hb_ell_simulated --matrix layer.smtx --n 256
#include <fmt/format.h>
#include <weft/backends/simulator/device.h>
#include <weft/dsl/errors.h>
#include <weft/formats/io/read.h>
#include <weft/formats/random.h>
#include <weft/scheduler/hb_ell_swmma.h>
#include <weft/search/problems.h>
#include <weft/search/report/chart.h>
#include <weft/search/tool/table.h>
#include <weft/search/verify.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

namespace weft {
namespace {

constexpr const char* target_name = "sm_70_swmma";
constexpr std::int64_t few_products = std::int64_t{1} << 24;

struct Options {
  std::string suite;
  std::vector<double> density;
  std::vector<std::string> matrices;
  std::int64_t n = 256;
  std::string plot;
  std::uint64_t seed = 1;
  bool parts = false;
};

struct Problem {
  std::string name;
  std::int64_t m = 0, n = 0, k = 0;
  double density = 0;
  WeightMatrix weights;
};

/// So many places with a value, at random.
WeightMatrix random_matrix(std::int64_t rows, std::int64_t columns, double density, std::uint64_t seed) {
  Random random(seed);
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

std::vector<Problem> problems_of(const Options& options) {
  std::vector<Problem> problems;
  if (!options.suite.empty()) {
    std::ifstream file(options.suite);
    if (!file) throw RuntimeError("cannot read " + options.suite);
    const auto suite = nlohmann::json::parse(file);
    const auto densities =
        options.density.empty() ? suite.at("density").get<std::vector<double>>() : options.density;
    for (const double density : densities) {
      for (const auto& row : suite.at("problems")) {
        Problem problem{.name = {},
                        .m = row.at("M"),
                        .n = row.at("N"),
                        .k = row.at("K"),
                        .density = density,
                        .weights = {}};
        problem.name = fmt::format("{}x{}x{}", problem.m, problem.k, problem.n);
        problem.weights = random_matrix(problem.m, problem.k, density, options.seed);
        problems.push_back(std::move(problem));
      }
    }
  }
  for (const std::string& path : options.matrices) {
    const WeightMatrix read_matrix = read(path);
    Problem problem{.name = path.substr(path.rfind('/') + 1),
                    .m = read_matrix.rows,
                    .n = options.n,
                    .k = read_matrix.columns,
                    .density = 1 - read_matrix.sparsity(),
                    .weights = read_matrix.pattern_only
                                   ? with_random_values(read_matrix, DType::f16, options.seed)
                                   : converted(read_matrix, DType::f16)};
    problems.push_back(std::move(problem));
  }
  return problems;
}

struct Time {
  double clocks = 0;  ///< without the launch
  std::string bound;
  std::int64_t blocks = 0;  ///< that are stored
  bool right = false;
};

Time time_of(const Problem& problem, const WeightMatrix& weights, const Format& format,
             const Options& options) {
  const std::uint64_t seed = options.seed;
  Epilogue epilogue;
  epilogue.alpha = epilogue.beta = true;
  const auto packed = std::make_shared<const SparseTensor>(pack(weights, format));
  const Kernel kernel =
      compile(hb_ell_swmma(spmm_algorithm(problem.m, problem.k, Extent(problem.n), DType::f16, epilogue),
                           packed, target_named(target_name)));
  const Device device = Device::simulator(target_name);
  const Array b = random_array(DType::f16, {problem.k, problem.n}, seed + 1);
  const simulator::TimeParameters& parameters = simulator::time_parameters_of(target_named(target_name).sm);
  // Which warp asks an L1 first depends on the order of the simulated warps; large problems average it out.
  const std::uint64_t orders = problem.m * problem.n * problem.k <= few_products ? 5 : 1;
  Time time{.clocks = 0, .bound = {}, .blocks = packed->array("bcols").size(), .right = true};
  std::vector<double> clocks;
  for (std::uint64_t order = 0; order < orders; ++order) {
    simulator::options(device).launch.seed = order;
    Array own = b, c = random_array(DType::f16, {problem.m, problem.n}, seed + 2);
    const Verification verification =
        verify(kernel, device, {{{"B", &own}, {"C", &c}}, {{"alpha", 1}, {"beta", 1}}});
    const simulator::TimeEstimate& estimate = simulator::last_estimate(device);
    if (options.parts)
      fmt::print("{}, {:.3f}, {}: {}", problem.name, problem.density, format.text(), estimate.text());
    if (!verification.passed) fmt::print("{} in {}: {}\n", problem.name, format.text(), verification.text());
    time.right = time.right && verification.passed;
    time.bound = estimate.bound;
    clocks.push_back((estimate.microseconds - parameters.launch_microseconds) * 1e3 * parameters.gigahertz);
  }
  std::ranges::sort(clocks);
  time.clocks = clocks[clocks.size() / 2];
  return time;
}

struct Line {
  Problem problem;
  Time uniform, hybrid, dense;
};

report::Chart chart_of(const std::vector<Line>& lines) {
  report::Chart chart{.title = "C = A B + C with K = 16 on the simulated V100, 512 threads a block",
                      .x_label = "M = N",
                      .y_label = "clocks"};
  chart.logarithmic_x = chart.logarithmic_y = true;
  std::vector<double> densities;
  for (const Line& line : lines) {
    if (std::ranges::find(densities, line.problem.density) == densities.end())
      densities.push_back(line.problem.density);
  }
  for (const double density : densities) {
    for (const bool hybrid : {false, true}) {
      report::Series series{.name = fmt::format("{}, density {}", hybrid ? "HB-ELL" : "one width", density),
                            .kind = report::Series::Kind::line,
                            .points = {}};
      for (const Line& line : lines) {
        const Problem& p = line.problem;
        if (p.density != density || p.k != 16) continue;
        const double clocks = hybrid ? line.hybrid.clocks : line.uniform.clocks;
        series.points.push_back(
            {static_cast<double>(p.m), clocks, fmt::format("{}: {:.0f}", p.name, clocks)});
      }
      chart.series.push_back(std::move(series));
    }
  }
  return chart;
}

/// A chart as a file of its own.
std::string picture_of(const report::Chart& chart) {
  std::string svg = report::svg_of(chart);
  svg.insert(std::string_view("<svg").size(), " xmlns=\"http://www.w3.org/2000/svg\"");
  svg.insert(svg.find('>') + 1, fmt::format("<style>{}</style>", report::chart_style()));
  return svg;
}

int run(const Options& options) {
  std::vector<Line> lines;
  tool::Table table(
      {"A x B", "density", "width blocks", "one width", "HB-ELL", "over", "dense", "HB-ELL bound by"});
  bool right = true;
  for (Problem& problem : problems_of(options)) {
    Line line;
    line.uniform = time_of(problem, problem.weights, formats::hb_ell({.step = 4, .uniform = true}), options);
    line.hybrid = time_of(problem, problem.weights, formats::hb_ell({.step = 4}), options);
    line.dense = time_of(problem, random_matrix(problem.m, problem.k, 1, options.seed + 3),
                         formats::hb_ell({.step = 4}), options);
    right = right && line.uniform.right && line.hybrid.right && line.dense.right;
    table.row({problem.name, fmt::format("{:.3f}", problem.density),
               fmt::format("{} / {}", line.uniform.blocks, line.hybrid.blocks),
               fmt::format("{:.0f}", line.uniform.clocks), fmt::format("{:.0f}", line.hybrid.clocks),
               fmt::format("{:.2f}", line.uniform.clocks / line.hybrid.clocks),
               fmt::format("{:.0f}", line.dense.clocks), line.hybrid.bound});
    fmt::print(stderr, "{} {:.3f}: {:.2f}\n", problem.name, problem.density,
               line.uniform.clocks / line.hybrid.clocks);
    line.problem = std::move(problem);
    lines.push_back(std::move(line));
  }
  fmt::print("{}", table.text());
  if (!options.plot.empty()) {
    std::ofstream file(options.plot);
    file << picture_of(chart_of(lines));
    if (!file) throw RuntimeError("cannot write " + options.plot);
  }
  return right ? 0 : 1;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  weft::Options options;
  CLI::App app("Clocks of HB-ELL and of one ELL width on the simulated sparse tensor core");
  app.add_option("--suite", options.suite, "a JSON file with problems and densities");
  app.add_option("--density", options.density, "in place of those of the suite")->delimiter(',');
  app.add_option("--matrix", options.matrices, "files of pruned weights");
  app.add_option("--n", options.n, "columns of B for these")->capture_default_str();
  app.add_option("--plot", options.plot, "an SVG file to write: the problems with K = 16");
  app.add_option("--seed", options.seed)->capture_default_str();
  app.add_flag("--parts", options.parts, "what each resource alone would take, for every kernel");
  CLI11_PARSE(app, argc, argv);
  try {
    return weft::run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
