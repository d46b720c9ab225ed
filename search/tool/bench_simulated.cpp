#include <fmt/format.h>
#include <weft/backends/runtime/process.h>
#include <weft/dsl/errors.h>
#include <weft/search/report/simulated_blocks.h>
#include <weft/search/tool/bench_simulated.h>
#include <weft/search/tool/options.h>
#include <weft/search/tool/table.h>
#include <weft/search/tool/verbs.h>

#include <cstdio>

namespace weft::tool {
namespace {

std::string of_clocks(double clocks) {
  return fmt::format("{:.0f}", clocks);
}

}  // namespace

int bench_simulated(const Suite& suite, const std::vector<SuiteCase>& cases, const SimulatedBench& options) {
  if (suite.dtype != DType::f16 || suite.is_convolution() || suite.is_grouped())
    throw UserError(
        "the sparse tensor core does not fit the suite", suite.name,
        fmt::format("{} of {}", suite.is_convolution() ? "convolutions" : "products", name_of(suite.dtype)),
        "products of unstructured weights in f16");
  const RealWeights real =
      options.data.empty() ? RealWeights() : of_option("--data", [&] { return RealWeights(options.data); });
  Table table({"M x K x N", "density", "pieces / blocks", "one width", "HB-ELL", "one width over HB-ELL",
               "dense", "HB-ELL bound by", "weights"});
  std::vector<SimulatedBlocks> results;
  bool right = true;
  for (const SuiteCase& chosen : cases) {
    const SimulatedBlocks result = simulate_blocks(chosen, real, options.orders);
    options.log(json_line(result, suite.name));
    const SuiteProblem& p = chosen.problem;
    const std::string name = fmt::format("{}x{}x{}", p.m, p.k, p.n);
    const double over = result.uniform.clocks / result.hybrid.clocks;
    table.row({name, fmt::format("{:.3f}", result.density),
               fmt::format("{} / {}", result.uniform.blocks, result.hybrid.blocks),
               of_clocks(result.uniform.clocks), of_clocks(result.hybrid.clocks), fmt::format("{:.2f}", over),
               of_clocks(result.dense.clocks), result.hybrid.bound, result.source});
    fmt::print(stderr, "[{}/{}] {} {:.3f}: {:.2f}\n", results.size() + 1, cases.size(), name, result.density,
               over);
    for (const SimulatedTime* time : {&result.uniform, &result.hybrid, &result.dense}) {
      if (!time->wrong.empty()) fmt::print(stderr, "{} WRONG: {}\n", name, time->wrong);
    }
    right = right && result.right();
    results.push_back(result);
  }
  fmt::print("{}", table.text());
  if (!options.plot.empty()) write_bytes(options.plot, report::svg_file_of(chart_of(results)));
  return right ? exit_ok : exit_mismatch;
}

}  // namespace weft::tool
