// A record and its line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/search/records/records.h>

#include <nlohmann/json.hpp>
#include <set>

namespace weft {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Record full_record() {
  Record record;
  record.id = "01J";
  record.time = "2026-11-21T04:30:00Z";
  record.run = "r42";
  record.kernel = "spmm";
  record.recipe = "sparsert";
  record.config = {{"rows", 32}, {"threads", 64}};
  record.kernel_hash = "xxh3:1";
  record.problem = {{{"M", 64}, {"K", 256}, {"N", 196}}, {{"dtype", "f32"}, {"acc", "f32"}}};
  record.pattern = {"csr", 0, 1638, "xxh3:2", 25.6, 0.4};
  record.target = {"sm_90a", "NVIDIA H200", 132, 232448};
  record.toolchain = {{"weft", "0.1.0"}, {"ptxas", "13.0.88"}};
  record.source = {{"weights", "W.npy"}, {"n", "196"}};
  record.measure = "gpu";
  record.microseconds = {4.5, 4.4, 4.75, 15};
  record.verified = {1e-7, 2e-8, 64, true};
  record.compile_milliseconds = 812;
  record.registers = 40;
  record.shared_bytes = 1024;
  record.spill_bytes = 0;
  record.predicted_microseconds = 3.5;
  record.baselines = {{"cuBLAS f32", true, 9.5, BaselineOf::library},
                      {"cuSPARSE csr", false, 12, BaselineOf::library}};
  record.strategy = "ranked";
  record.seed = 7;
  return record;
}

TEST(Records, ALineHoldsAllOfARecord) {
  const Record record = full_record();
  const std::string line = json_of(record);
  EXPECT_THAT(line, Not(HasSubstr("\n")));
  const Record again = record_of(line);
  EXPECT_EQ(json_of(again), line);
  EXPECT_EQ(again.problem, record.problem);
  EXPECT_EQ(again.config, record.config);
  EXPECT_EQ(again.time_of_correct(), 4.5);
  EXPECT_EQ(again.key(), record.key());
  for (const char* part : {R"("us":{"median":4.5,"min":4.4,"p95":4.75,"n":15})", R"("nnz":1638)",
                           R"("smem_optin":232448)", R"("status":"correct")", R"("row_cv":0.4)"})
    EXPECT_THAT(line, HasSubstr(part));
}

TEST(Records, WhatIsNotKnownIsLeftOut) {
  Record record;
  record.kernel = "spmm";
  record.status = TrialStatus::compile;
  record.message = "ptxas: \xff\xfe refuses";
  const std::string line = json_of(record);
  for (const char* field : {"\"us\"", "verify", "regs", "compile_ms", "source", "predicted_us"})
    EXPECT_THAT(line, Not(HasSubstr(field)));
  EXPECT_EQ(record_of(line).status, TrialStatus::compile);
  EXPECT_FALSE(record_of(line).time_of_correct());
}

TEST(Records, FieldsOfOthersArePassedOver) {
  std::string line = json_of(full_record());
  line.insert(1, R"("power_w":[1,2],"times":{"a":null},)");
  EXPECT_EQ(json_of(record_of(line)), json_of(full_record()));
}

TEST(Records, ALineThatIsNoneSaysWhy) {
  const auto message = [](const std::string& line) {
    try {
      record_of(line);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(message(R"({"id": )"), HasSubstr("one JSON object"));
  EXPECT_THAT(message("[1]"), HasSubstr("one JSON object"));
  EXPECT_THAT(message(R"({"status":"correct"})"), HasSubstr("no \"config\""));
  EXPECT_THAT(message(R"({"config":{"rows":"many"},"status":"correct"})"), HasSubstr("no record"));
  EXPECT_THAT(message(R"({"config":{},"status":"slow"})"), HasSubstr("timeout, runtime, correctness"));
  EXPECT_THAT(message(R"({"config":{},"status":"correct","us":{"median":"fast"}})"), HasSubstr("no record"));
}

TEST(Records, AKeyIsWhatATimeDependsOn) {
  const Record record = full_record();
  const auto other = [&](auto change) {
    Record changed = record;
    change(changed);
    return changed.key() != record.key();
  };
  EXPECT_TRUE(other([](Record& r) { r.config["rows"] = 64; }));
  EXPECT_TRUE(other([](Record& r) { r.recipe = "default"; }));
  EXPECT_TRUE(other([](Record& r) { r.problem.sizes["N"] = 8; }));
  EXPECT_TRUE(other([](Record& r) { r.pattern.hash = "xxh3:3"; }));
  EXPECT_TRUE(other([](Record& r) { r.target.name = "sm_80"; }));
  EXPECT_TRUE(other([](Record& r) { r.target.gpu = "NVIDIA H100"; }));
  EXPECT_TRUE(other([](Record& r) { r.toolchain["ptxas"] = "12.0"; }));
  EXPECT_TRUE(other([](Record& r) { r.measure = "sim"; }));
  EXPECT_TRUE(other([](Record& r) { r.pattern.kind = "ell"; }));
  EXPECT_TRUE(other([](Record& r) { r.target.threads = 2; }));
  // How the point came to be tried, and where the weights lie, say nothing about its time.
  EXPECT_FALSE(other([](Record& r) { r.run = "r43"; }));
  EXPECT_FALSE(other([](Record& r) { r.seed = 8; }));
  EXPECT_FALSE(other([](Record& r) { r.source["weights"] = "elsewhere/W.npy"; }));
  EXPECT_FALSE(other([](Record& r) { r.predicted_microseconds = 9; }));
}

TEST(Records, AFormatIsAChoiceOfAProblemAndThreadsAreAnother) {
  const Record record = full_record();
  Record other = record;
  other.pattern.kind = "ell";
  EXPECT_EQ(other.problem_key(), record.problem_key()) << "formats of one matrix compete";
  EXPECT_NE(other.packed_key(), record.packed_key());
  other = record;
  other.target.threads = 2;
  EXPECT_NE(other.problem_key(), record.problem_key());
  EXPECT_EQ(record_of(json_of(other)).target.threads, 2);
}

TEST(Records, LinesOfOlderDatabasesHaveAMeaning) {
  Record record = full_record();
  record.baselines = {{"weft, dense", true, 9.5, BaselineOf::weft},
                      {"dense, by the model", true, 8, BaselineOf::model},
                      {"cuBLAS f32", true, 7, BaselineOf::library}};
  nlohmann::json line = nlohmann::json::parse(json_of(record));
  EXPECT_EQ(line.at("baselines").at(0).at("of"), "weft");
  for (nlohmann::json& one : line.at("baselines")) one.erase("of");
  const Record old = record_of(line.dump());
  EXPECT_EQ(old.baselines[0].whose, BaselineOf::weft);
  EXPECT_EQ(old.baselines[1].whose, BaselineOf::model);
  EXPECT_EQ(old.baselines[2].whose, BaselineOf::library);
  EXPECT_EQ(old.target.threads, 0);
  EXPECT_EQ(old.pattern.kind, "csr");
}

TEST(Records, WhatCannotBeIsRefusedWithItsField) {
  const nlohmann::json good = nlohmann::json::parse(json_of(full_record()));
  const auto refusal = [&](const char* pointer, const nlohmann::json& value) {
    nlohmann::json line = good;
    line[nlohmann::json::json_pointer(pointer)] = value;
    try {
      record_of(line.dump());
    } catch (const UserError& error) {
      EXPECT_THAT(error.what(), Not(HasSubstr("json.exception"))) << pointer;
      EXPECT_FALSE(error.report().accepted.empty()) << pointer;
      return error.report().where + " | " + error.report().found;
    }
    return std::string("accepted: ") + pointer;
  };
  EXPECT_EQ(refusal("/us/median", -5), "us.median | -5");
  EXPECT_EQ(refusal("/us/median", 0), "us.median | 0");
  EXPECT_EQ(refusal("/us/median", "4.5"), "us.median | \"4.5\"");
  EXPECT_EQ(refusal("/us", 4.7), "us | 4.7");
  EXPECT_EQ(refusal("/config/rows", 4.7), "config.rows | 4.7");
  EXPECT_EQ(refusal("/config/rows", 9223372036854775808U), "config.rows | 9223372036854775808");
  EXPECT_EQ(refusal("/problem/M", -1), "problem.M | -1");
  EXPECT_EQ(refusal("/pattern/nnz", -1), "pattern.nnz | -1");
  EXPECT_EQ(refusal("/baselines/1/us", -12), "baselines[1].us | -12");
  EXPECT_EQ(refusal("/baselines/0/of", "nobody"), "baselines[0].of | nobody");
  EXPECT_EQ(refusal("/seed", -1), "seed | -1");
  EXPECT_EQ(refusal("/toolchain", {1, 2}), "toolchain | [1,2]");
  EXPECT_EQ(refusal("/status", "slow"), "status | slow");
  EXPECT_EQ(refusal("/predicted_us", nullptr), "accepted: /predicted_us") << "nothing is known of it";
}

TEST(Records, ArchitecturesAndStatusesHaveNames) {
  EXPECT_EQ(architecture_of("sm_90a"), "sm_90");
  EXPECT_EQ(architecture_of("sm_86"), "sm_86");
  EXPECT_EQ(architecture_of("cpu"), "cpu");
  for (const char* name : {"timeout", "compile", "runtime", "correctness", "constraints", "correct"}) {
    ASSERT_TRUE(trial_status_named(name));
    EXPECT_EQ(name_of(*trial_status_named(name)), name);
  }
  EXPECT_FALSE(trial_status_named("crashed"));
}

TEST(Records, IdsAreUniqueAndSortByTime) {
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(new_record_id());
  EXPECT_EQ(ids.size(), 1000U);
  EXPECT_EQ(ids.begin()->size(), 26U);
  // Ten digits of base 32 hold milliseconds up to the year 37648; their order is that of time.
  EXPECT_LE(ids.begin()->substr(0, 10), ids.rbegin()->substr(0, 10));
  EXPECT_EQ(time_now().size(), std::string("2026-11-21T04:30:00Z").size());
}

}  // namespace
}  // namespace weft
