// The predictor on times that others measured: Spatha's V:N:M kernels on an RTX 3090 (Castro et al., "VENOM:
// A Vectorized N:M Format for Unleashing the Power of Sparse Tensor Cores", SC 2023).
#include <gtest/gtest.h>
#include <weft/search/model/study.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

namespace weft {
namespace {

namespace fs = std::filesystem;

using Row = std::map<std::string, std::string>;

std::vector<Row> rows_of(const fs::path& path) {
  std::ifstream file(path);
  std::string line, cell;
  std::vector<std::string> names;
  std::vector<Row> rows;
  while (std::getline(file, line)) {
    std::istringstream cells(line);
    Row row;
    for (std::size_t i = 0; std::getline(cells, cell, ','); ++i) {
      if (rows.empty() && row.empty() && names.size() <= i && line.starts_with("algo")) {
        names.push_back(cell);
      } else if (i < names.size()) {
        row[names[i]] = cell;
      }
    }
    if (!row.empty()) rows.push_back(std::move(row));
  }
  return rows;
}

void add(TimingTable& table, const Row& row) {
  const auto number = [&](const char* name) {
    const auto found = row.find(name);
    return found == row.end() ? std::int64_t{0} : std::stoll(found->second);
  };
  if (number("bm") == 0) return;
  ProblemSummary summary{.m = number("m"), .k = number("k"), .n = number("n"), .dtype = DType::f16};
  summary.group_rows = number("meta_block_sz");
  summary.kept_of = number("nn_row");
  summary.of_group = row.contains("mm_col") ? number("mm_col") : number("mm_row");
  if (summary.kept_of == 0 || summary.of_group == 0) return;
  summary.stored = summary.m * summary.k * summary.kept_of / summary.of_group;
  summary.row_mean = static_cast<double>(summary.stored) / static_cast<double>(summary.m);
  std::string matrix, name;
  for (const char* part : {"m", "k", "meta_block_sz"}) matrix += row.at(part) + " ";
  matrix += std::to_string(summary.kept_of) + ":" + std::to_string(summary.of_group);
  name = matrix + " " + row.at("n");
  Configuration configuration{"spatha", {{"algo", number("algo")}}};
  for (const char* knob : {"bm", "bn", "bk", "wm", "wn", "wk", "mm", "mn", "mk", "nstage"})
    configuration.point[knob] = number(knob);
  auto problem = std::ranges::find(table.problems, name, &TimingTable::Problem::name);
  if (problem == table.problems.end()) {
    TimingTable::Problem fresh;
    fresh.name = name;
    fresh.matrix = matrix;
    fresh.summary = summary;
    fresh.target = "sm_86";
    fresh.device = device_numbers(target_named("sm_86"));
    fresh.features = features_of(summary, fresh.device);
    problem = table.problems.insert(table.problems.end(), fresh);
  }
  auto known = std::ranges::find(table.configurations, configuration);
  if (known == table.configurations.end())
    known = table.configurations.insert(table.configurations.end(), configuration);
  const auto at = static_cast<std::size_t>(known - table.configurations.begin());
  constexpr double never_ran = std::numeric_limits<double>::infinity();
  if (problem->microseconds.size() <= at) problem->microseconds.resize(at + 1, never_ran);
  problem->microseconds[at] = std::min(problem->microseconds[at], 1000 * std::stod(row.at("spmm_time")));
}

TEST(RealTimes, one_configuration_is_nearly_enough_and_the_models_are_no_worse) {
  const fs::path folder = fs::path(WEFT_DATA_DIR) / "tuning" / "venom_rtx3090";
  if (!fs::exists(folder)) GTEST_SKIP() << "no measured times beside the checkout";
  TimingTable table;
  for (const Row& row : rows_of(folder / "spmm_bert_spatha.csv")) add(table, row);
  for (TimingTable::Problem& problem : table.problems)
    problem.microseconds.resize(table.configurations.size(), std::numeric_limits<double>::infinity());
  ASSERT_GT(table.problems.size(), 50U);
  ASSERT_GT(table.configurations.size(), 5U);
  const Study found = study(table, {});
  const auto line = [&](const char* model) {
    return *std::ranges::find(found.lines, std::string(model), &StudyLine::model);
  };
  // The smallest tree within 1 % may be as good as one configuration.
  EXPECT_GE(line("decision tree").score.mean, line("best single").score.mean - 1e-9);
  EXPECT_GT(line("decision tree").score.mean, 0.98);
}

}  // namespace
}  // namespace weft
