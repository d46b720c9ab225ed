// Questions to a database, and its other forms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/search/trials/record_export.h>
#include <weft/search/trials/record_query.h>

#include <nlohmann/json.hpp>

namespace weft {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

StoredRecord stored(std::size_t line, std::int64_t n, std::int64_t rows, double microseconds,
                    TrialStatus status = TrialStatus::correct) {
  Record record;
  record.time = "2026-11-21T04:30:00Z";
  record.kernel = "spmm";
  record.recipe = "sparsert";
  record.config = {{"rows", rows}, {"threads", 64}};
  record.problem = {{{"M", 64}, {"K", 100}, {"N", n}}, {{"dtype", "f32"}}};
  record.pattern.kind = "csr";
  record.pattern.stored = 640;
  record.target.name = "sm_90a";
  record.measure = "gpu";
  record.toolchain = {{"weft", std::to_string(line)}};  // measured by another version each time
  record.predicted_microseconds = 2;
  record.status = status;
  if (status == TrialStatus::correct) record.microseconds = {microseconds, microseconds, microseconds, 15};
  return {record, line};
}

std::vector<StoredRecord> with_one_tool(std::vector<StoredRecord> records) {
  for (StoredRecord& one : records) one.record.toolchain.clear();
  return records;
}

TEST(RecordQueries, AFilterTakesWhatItNames) {
  const std::vector<StoredRecord> all{stored(2, 8, 1, 5), stored(3, 16, 1, 6),
                                      stored(4, 16, 2, 0, TrialStatus::timeout)};
  const auto lines = [&](const RecordFilter& filter) {
    std::vector<std::size_t> found;
    for (const StoredRecord& one : selected(all, filter)) found.push_back(one.line);
    return found;
  };
  EXPECT_THAT(lines({}), ::testing::ElementsAre(2, 3, 4));
  EXPECT_THAT(lines({.sizes = {{"N", 16}}}), ::testing::ElementsAre(3, 4));
  EXPECT_THAT(lines({.status = "timeout"}), ::testing::ElementsAre(4));
  EXPECT_THAT(lines({.target = "sm_90"}), ::testing::ElementsAre(2, 3, 4));
  EXPECT_THAT(lines({.target = "sm_80"}), ::testing::IsEmpty());
  EXPECT_THAT(lines({.kernel = "conv2d"}), ::testing::IsEmpty());
}

TEST(RecordQueries, ProblemsHaveTheirBestAndTheirFailures) {
  const std::vector<StoredRecord> all =
      with_one_tool({stored(2, 8, 1, 5), stored(3, 8, 2, 4), stored(4, 8, 4, 0, TrialStatus::compile),
                     stored(5, 16, 1, 0, TrialStatus::timeout)});
  const std::vector<ProblemTrials> problems = problems_of(all);
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_EQ(problems[0].name, "spmm 64x100x8 f32, 90.0 % zero, sm_90a, gpu");
  EXPECT_EQ(problems[0].best->line, 3U);
  EXPECT_EQ(problems[0].ends.at(TrialStatus::compile), 1);
  EXPECT_EQ(problems[1].best, nullptr);
}

TEST(RecordQueries, RegretIsByTheOraclesTimes) {
  const std::vector<StoredRecord> oracle{stored(2, 8, 1, 5), stored(3, 8, 2, 4), stored(4, 8, 4, 8)};
  // The search was lucky with its clock, and chose the second best.
  const std::vector<StoredRecord> searched{stored(2, 8, 1, 3.5), stored(3, 8, 4, 7)};
  const std::vector<Regret> regrets = regrets_of(oracle, searched);
  ASSERT_EQ(regrets.size(), 1U);
  EXPECT_EQ(regrets[0].points, 3U);
  EXPECT_EQ(regrets[0].trials, 2U);
  EXPECT_DOUBLE_EQ(regrets[0].oracle, 4);
  EXPECT_DOUBLE_EQ(regrets[0].measured, 3.5);
  EXPECT_DOUBLE_EQ(regrets[0].by_oracle, 5);
  EXPECT_DOUBLE_EQ(regrets[0].ratio, 0.8);
  EXPECT_TRUE(regrets_of(oracle, {stored(2, 32, 1, 3)}).empty());
}

TEST(RecordQueries, ASearchIsPlayedThroughOnKnownTimes) {
  std::vector<StoredRecord> oracle;
  for (std::int64_t rows = 1; rows <= 64; ++rows)
    oracle.push_back(stored(static_cast<std::size_t>(rows) + 1, 8, rows, 100.0 / static_cast<double>(rows)));
  const std::vector<Regret> few = played_through(oracle, 3, 5);
  const std::vector<Regret> many = played_through(oracle, 30, 5);
  const std::vector<Regret> all = played_through(oracle, 64, 5);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_DOUBLE_EQ(all[0].ratio, 1);
  EXPECT_LE(few[0].ratio, many[0].ratio);
  EXPECT_GT(many[0].ratio, 0.9) << "times fall along the knob, which five trials show";
}

TEST(RecordExports, FollowTheirSchemas) {
  const std::vector<StoredRecord> all =
      with_one_tool({stored(2, 8, 1, 5), stored(3, 8, 2, 0, TrialStatus::constraints),
                     stored(4, 8, 4, 0, TrialStatus::timeout), stored(5, 8, 8, 0, TrialStatus::compile)});
  const auto t4 = nlohmann::json::parse(exported(all, RecordForm::t4));
  ASSERT_EQ(t4.at("results").size(), 4U);
  const auto& first = t4.at("results").at(0);
  EXPECT_EQ(first.at("invalidity"), "correct");
  EXPECT_EQ(first.at("correctness"), 1);
  EXPECT_EQ(first.at("configuration").at("rows"), 1);
  EXPECT_EQ(first.at("configuration").at("format"), "csr");
  EXPECT_DOUBLE_EQ(first.at("times").at("runtimes").at(0).get<double>(), 5e-6);
  EXPECT_EQ(t4.at("results").at(2).at("invalidity"), "timeout");
  for (const auto& result : t4.at("results"))
    for (const char* required : {"configuration", "times", "invalidity", "correctness"})
      EXPECT_TRUE(result.contains(required));

  const auto cache = nlohmann::json::parse(exported(all, RecordForm::kernel_tuner));
  EXPECT_EQ(cache.at("tune_params_keys"), (nlohmann::json{"format", "recipe", "rows", "threads"}));
  EXPECT_EQ(cache.at("tune_params").at("rows"), (nlohmann::json{1, 2, 4, 8}));
  EXPECT_DOUBLE_EQ(cache.at("cache").at("csr,sparsert,1,64").at("time").get<double>(), 0.005);
  EXPECT_EQ(cache.at("cache").at("csr,sparsert,2,64").at("time"), "InvalidConfig");
  EXPECT_EQ(cache.at("cache").at("csr,sparsert,4,64").at("time"), "RuntimeFailedConfig");
  EXPECT_EQ(cache.at("cache").at("csr,sparsert,8,64").at("time"), "CompilationFailedConfig");

  const std::string csv = exported(all, RecordForm::csv);
  EXPECT_THAT(csv, StartsWith("line,time,kernel,M,K,N,"));
  EXPECT_THAT(csv, HasSubstr("\n2,2026-11-21T04:30:00Z,spmm,64,100,8,f32,640,"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 5);
}

TEST(RecordExports, RefuseWhatTheyCannotHold) {
  const std::vector<StoredRecord> two = with_one_tool({stored(2, 8, 1, 5), stored(3, 16, 1, 5)});
  EXPECT_THROW(exported(two, RecordForm::kernel_tuner), UserError);
  EXPECT_THROW(exported({}, RecordForm::kernel_tuner), UserError);
  EXPECT_NO_THROW(exported({}, RecordForm::csv));
  EXPECT_THROW(record_form_named("t5"), UserError);
}

}  // namespace
}  // namespace weft
