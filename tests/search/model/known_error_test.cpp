// Verdicts by expected times, beside what was measured of any_problem and of 46 problems drawn beside it, on
// an H200.
#include <gtest/gtest.h>
#include <weft/backends/runtime/process.h>
#include <weft/search/model/dense_bound.h>
#include <weft/search/model/known_error.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace weft {
namespace {

using nlohmann::json;

std::vector<json> measured_problems() {
  const std::string packed = std::string(WEFT_TESTS_DIR) + "/../docs/data/h200_any_problem_5.jsonl.xz";
  std::istringstream lines(run_process({"xz", "-dkc", packed}).output);
  std::vector<json> problems;
  for (std::string line; std::getline(lines, line);) problems.push_back(json::parse(line));
  return problems;
}

/// The least time of the entries whose names begin so; nothing where there is none.
std::optional<double> time_of(const json& problem, const std::string& name) {
  std::optional<double> least;
  for (const json& entry : problem.at("entries")) {
    if (!entry.at("name").get<std::string>().starts_with(name) || !entry.contains("us")) continue;
    // The kernel that is taken, where several were tried.
    const bool several = entry.contains("tried") && entry.at("tried").contains("chosen");
    const double time = several ? entry.at("tried").at("chosen") : entry.at("us").at("median");
    least = std::min(time, least.value_or(time));
  }
  return least;
}

TEST(KnownErrors, VerdictsByExpectedTimesAreNotWrong) {
  if (std::system("xz --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no xz";
  const Target& target = target_named("sm_90a");
  int verdicts = 0;
  std::size_t compared_problems = 0;
  for (const json& problem : measured_problems()) {
    const json& sizes = problem.at("problem");
    const std::string type = problem.at("dtype");
    ProblemSummary summary{.m = sizes.at("M"), .k = sizes.at("K"), .n = sizes.at("N")};
    summary.dtype = dtype_named(type).value();
    summary.convolution = sizes.contains("H");
    const auto sparse = time_of(problem, "weft auto");
    const auto dense = time_of(problem, (summary.convolution ? "cuDNN " : "cuBLAS ") + type);
    const json& expected = problem.at("expected");
    if (!sparse || !dense || !expected.contains("dense_us")) continue;
    ++compared_problems;
    const std::string way = expected.at("way");
    const std::string recipe = way.substr(0, way.find_first_of(": "));
    const Format format = parse_format(way.substr(way.rfind(' ') + 1));
    const auto of_sparse = error_of_expected_time(summary, format, recipe, {}, target);
    const auto of_dense = error_of_dense_bound(summary, target);
    if (!of_sparse || !of_dense) continue;
    const double ratio = expected.at("dense_us").get<double>() / expected.at("us").get<double>();
    const Faster faster = compared(ratio, *of_dense, *of_sparse).faster;
    constexpr double a_little = 1.05;
    if (faster == Faster::kernel) {
      EXPECT_LT(*sparse, a_little * *dense) << problem.at("suite") << " " << problem.at("id") << ": " << way;
    }
    if (faster == Faster::dense) {
      EXPECT_LT(*dense, a_little * *sparse) << problem.at("suite") << " " << problem.at("id") << ": " << way;
    }
    if (faster != Faster::none) ++verdicts;
  }
  EXPECT_EQ(compared_problems, 115U) << "one has no dense product";
  EXPECT_GT(verdicts, 40) << "a verdict that is never given helps nobody";
}

}  // namespace
}  // namespace weft
