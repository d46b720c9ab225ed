#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/search/measure/report.h>

#include <nlohmann/json.hpp>

namespace weft {
namespace {

using ::testing::ElementsAre;

Entry entry(const std::string& name, ContestantKind kind, DenseType type, double microseconds) {
  Entry e;
  e.name = name;
  e.kind = kind;
  e.arithmetic = type;
  if (microseconds > 0) {
    e.timing.median = e.timing.minimum = e.timing.percentile_95 = microseconds;
    e.timing.count = 15;
  } else {
    e.reason = "no " + name;
  }
  return e;
}

CaseResult result(const std::string& id, double f32, double tf32, double csr, double ours) {
  CaseResult r;
  r.chosen.problem.id = id;
  r.chosen.problem.m = 64;
  r.chosen.problem.k = 256;
  r.chosen.problem.n = 49;
  r.chosen.sparsity = 0.9;
  r.sparsity = 0.901;
  r.limit = 1;
  r.entries = {entry("cuBLAS f32", ContestantKind::dense, DenseType::f32, f32),
               entry("cuBLAS tf32", ContestantKind::dense, DenseType::tf32, tf32),
               entry("cuSPARSE csr", ContestantKind::sparse, DenseType::f32, csr),
               entry("weft default", ContestantKind::weft, DenseType::f32, ours)};
  return r;
}

TEST(Report, Verdicts) {
  EXPECT_EQ(verdict_of(result("1", 8, 5, 12, 4)), "weft default, 1.25x over cuBLAS tf32");
  EXPECT_EQ(verdict_of(result("1", 8, 5, 12, 10)), "cuBLAS tf32 is faster, at less precision: 0.50x");
  EXPECT_EQ(verdict_of(result("1", 8, 0, 4, 5)), "cuSPARSE csr is faster: 0.80x");
  EXPECT_EQ(verdict_of(result("1", 0, 0, 0, 5)), "weft default");
  EXPECT_EQ(verdict_of(result("1", 8, 5, 12, 0)), "weft has no kernel here");
  CaseResult wrong = result("1", 8, 5, 12, 0);
  wrong.entries[3].wrong = true;
  EXPECT_EQ(verdict_of(wrong), "weft default is WRONG");
}

TEST(Report, RowsOfTheTable) {
  EXPECT_THAT(table_row(result("3", 8, 5, 0, 4)),
              ElementsAre("3", "64x256x49", "90.1 %", "1", "8.00", "5.00", "-", "4.00", "2.00", "25 %",
                          "weft default, 1.25x over cuBLAS tf32"));
  CaseResult convolution = result("3", 0, 0, 0, 0);
  convolution.entries[0].wrong = true;
  convolution.chosen.problem.convolution = Convolution{2, 64, 32, {56, 28}, {3, 1}};
  const auto row = table_row(convolution);
  EXPECT_EQ(row[1], "64->32 3x1 of 56x28");
  EXPECT_EQ(row[4], "WRONG");
  EXPECT_EQ(row[8], "-");
}

/// A case of weights in groups: dense, pruned, 2:4 and weft.
CaseResult grouped(double dense, double pruned, double two_of_four, double ours) {
  CaseResult r = result("1", 0, 0, 0, 0);
  r.dtype = DType::f16;
  r.chosen.group_rows = 64;
  r.group_limits = GroupLimits{2, 3};
  r.entries = {entry("cuBLAS f16", ContestantKind::dense, DenseType::f16, dense),
               entry("cuBLAS f16, pruned weights", ContestantKind::pruned, DenseType::f16, pruned),
               entry("cuSPARSELt 2:4", ContestantKind::sparse, DenseType::f16, two_of_four),
               entry("weft shfl_bw", ContestantKind::weft, DenseType::f16, ours)};
  r.entries[0].weights = "dense, seed 5";
  r.entries[2].weights = "2:4 of the dense ones, seed 5";
  return r;
}

TEST(Report, WeightsInGroups) {
  const CaseResult r = grouped(10, 9, 6, 5);
  EXPECT_EQ(baseline_of(r)->name, "cuBLAS f16");
  EXPECT_EQ(pruned_baseline_of(r)->name, "cuBLAS f16, pruned weights");
  EXPECT_THAT(table_row(r),
              ElementsAre("1", "64x256x49", "90.1 %", "1", "64", "10.00", "9.00", "6.00", "5.00", "2.00",
                          "1.80", "40 %", "60 %", "weft shfl_bw, 1.20x over cuSPARSELt 2:4"));
  EXPECT_EQ(verdict_of(grouped(10, 9, 4, 5)), "cuSPARSELt 2:4 is faster: 0.80x");
  EXPECT_EQ(verdict_of(grouped(4, 9, 0, 5)), "cuBLAS f16 is faster: 0.80x");
  EXPECT_THAT(own_weights_of({r, r}),
              ElementsAre("cuBLAS f16: dense", "cuSPARSELt 2:4: 2:4 of the dense ones"));
  const auto json = nlohmann::json::parse(json_line(r, {}));
  EXPECT_EQ(json["V"], 64);
  EXPECT_EQ(json["over_dense"], 2);
  EXPECT_EQ(json["over_pruned"], 1.8);
  EXPECT_EQ(json["of_tensor"], 0.4);
  EXPECT_EQ(json["of_l2"], 0.6);
  EXPECT_EQ(json["entries"][2]["weights"], "2:4 of the dense ones, seed 5");
}

TEST(Report, HeadingAndRowHaveAsManyCells) {
  Suite suite;
  const std::vector<Contestant> four(4);
  EXPECT_EQ(table_heading(suite, four).size(), table_row(result("1", 8, 5, 0, 4)).size());
  suite.group_rows = {64};
  EXPECT_EQ(table_heading(suite, four).size(), table_row(grouped(10, 9, 0, 5)).size());
}

TEST(Report, MeansOfEveryGroupSize) {
  std::vector<CaseResult> results{grouped(10, 9, 6, 5), grouped(10, 9, 6, 2)};
  results.back().chosen.group_rows = 128;
  const auto means = means_of(results);
  ASSERT_EQ(means.size(), 6U);
  EXPECT_EQ(means[0].group_rows, 64);
  EXPECT_DOUBLE_EQ(means[0].mean, 2);
  EXPECT_EQ(means[3].group_rows, 128);
  EXPECT_DOUBLE_EQ(means[3].mean, 5);
}

TEST(Report, GeometricMeans) {
  EXPECT_DOUBLE_EQ(*geometric_mean({2, 8}), 4);
  EXPECT_FALSE(geometric_mean({}).has_value());
  EXPECT_THROW(geometric_mean({1, 0}), InternalError);
  std::vector<CaseResult> results{result("1", 8, 4, 0, 4), result("2", 32, 2, 8, 4)};
  results.push_back(result("1", 5, 5, 5, 1));
  results.back().chosen.batch = 32;
  const auto means = means_of(results);
  ASSERT_EQ(means.size(), 6U);
  EXPECT_EQ(means[0].over, "cuBLAS f32");
  EXPECT_DOUBLE_EQ(means[0].mean, 4);
  EXPECT_EQ(means[0].cases, 2);
  EXPECT_EQ(means[1].over, "cuBLAS tf32");
  EXPECT_DOUBLE_EQ(means[1].worst, 0.5);
  EXPECT_EQ(means[1].worst_id, "2");
  EXPECT_EQ(means[2].cases, 1) << "the first has no time of cuSPARSE";
  EXPECT_EQ(means[3].batch, 32);
  EXPECT_DOUBLE_EQ(means[3].mean, 5);
}

TEST(Report, TheFasterOfWeftsRecipesCounts) {
  CaseResult r = result("1", 8, 5, 12, 10);
  r.entries.push_back(entry("weft sparsert", ContestantKind::weft, DenseType::f32, 4));
  EXPECT_EQ(best_of_weft(r)->name, "weft sparsert");
  EXPECT_EQ(baseline_of(r)->name, "cuBLAS f32");
  EXPECT_EQ(verdict_of(r), "weft sparsert, 1.25x over cuBLAS tf32");
  EXPECT_DOUBLE_EQ(means_of({r})[0].mean, 2);
}

TEST(Report, ReasonsAreGathered) {
  EXPECT_THAT(reasons_of({result("1", 8, 5, 0, 4), result("2", 8, 5, 0, 4)}),
              ElementsAre("cuSPARSE csr: no cuSPARSE csr (problem 1, 2)"));
}

TEST(Report, AReasonOfSeveralLinesBecomesOne) {
  CaseResult r = result("1", 8, 5, 12, 0);
  r.entries[3].reason = "it does not fit\n  found:    a\n  accepted: b";
  EXPECT_THAT(reasons_of({r, r}),
              ElementsAre("weft default: it does not fit; found:    a; accepted: b (problem 1)"));
}

TEST(Report, JsonLinesAreOneLineAndComplete) {
  const std::string line =
      json_line(result("1", 8, 5, 0, 4), {"small", "cuda:0", "H200", "sm_90", {"cuBLAS 13"}, 15});
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["suite"], "small");
  EXPECT_EQ(json["problem"]["N"], 49);
  EXPECT_EQ(json["entries"].size(), 4U);
  EXPECT_EQ(json["entries"][0]["us"]["median"], 8);
  EXPECT_EQ(json["entries"][2]["reason"], "no cuSPARSE csr");
  EXPECT_EQ(json["over_dense"], 2);
  EXPECT_EQ(json["of_limit"], 0.25);
}

}  // namespace
}  // namespace weft
