#include "shfl_bw_study_cases.h"

#include <weft/search/model/draw.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace weft {
namespace {

constexpr std::int64_t least_group = 32;

std::vector<std::int64_t> up_to(std::int64_t largest, std::vector<std::int64_t> sizes) {
  std::erase_if(sizes, [&](std::int64_t size) { return size > largest; });
  return sizes;
}

/// Elements of the largest of the three operands.
std::int64_t most_elements(const SuiteProblem& problem) {
  return std::max({problem.m * problem.k, problem.k * problem.n, problem.m * problem.n});
}

std::vector<SuiteCase> drawn_cases(const StudyCases& options, Random& random) {
  constexpr std::int64_t most = std::int64_t{1} << 23;
  constexpr std::size_t widths_of_matrix = 3;
  const auto sizes = up_to(options.largest, {256, 512, 768, 1024, 1536, 2048, 3072, 4096, 5120, 8192});
  const auto widths =
      up_to(options.largest, {64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096});
  const std::vector<double> densities{0.05, 0.1, 0.2, 0.3, 0.5};
  std::vector<SuiteCase> cases;
  while (cases.size() < options.drawn) {
    SuiteCase one;
    one.problem.m = sizes[draw_below(random, sizes.size())];
    one.problem.k = sizes[draw_below(random, sizes.size())];
    one.sparsity = 1 - densities[draw_below(random, densities.size())];
    one.group_rows = least_group << draw_below(random, 3);
    std::vector<std::int64_t> some = widths;
    shuffle(some, random);
    some.resize(std::min(some.size(), widths_of_matrix));
    for (const std::int64_t width : some) {
      one.problem.n = width;
      if (most_elements(one.problem) <= most && cases.size() < options.drawn) cases.push_back(one);
    }
  }
  return cases;
}

/// Whole matrices, until there are as many products as are asked for.
std::vector<SuiteCase> suite_cases(const StudyCases& options, Random& random) {
  constexpr std::int64_t most = std::int64_t{1} << 25;
  std::map<std::tuple<std::int64_t, std::int64_t, double, std::int64_t>, std::vector<SuiteCase>> of_matrix;
  for (const SuiteCase& one : cases_of(read_suite(options.suite))) {
    const SuiteProblem& p = one.problem;
    if (one.group_rows < least_group || p.n % 8 != 0 || most_elements(p) > most) continue;
    of_matrix[{p.m, p.k, one.sparsity, one.group_rows}].push_back(one);
  }
  std::vector<std::vector<SuiteCase>> matrices;
  for (auto& [matrix, widths] : of_matrix) matrices.push_back(std::move(widths));
  shuffle(matrices, random);
  std::vector<SuiteCase> cases;
  for (const std::vector<SuiteCase>& widths : matrices) {
    if (cases.size() < options.of_suite) cases.insert(cases.end(), widths.begin(), widths.end());
  }
  return cases;
}

}  // namespace

std::vector<SuiteCase> study_cases(const StudyCases& options) {
  Random random(options.seed);
  std::vector<SuiteCase> cases = drawn_cases(options, random);
  if (!options.suite.empty()) {
    const std::vector<SuiteCase> layers = suite_cases(options, random);
    cases.insert(cases.end(), layers.begin(), layers.end());
  }
  shuffle(cases, random);
  for (std::size_t i = 0; i < cases.size(); ++i) cases[i].problem.id = std::to_string(i + 1);
  return cases;
}

}  // namespace weft
