// The verb tune as a process: what it prints, how it is stopped, and what is left when it is killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <weft/backends/runtime/process.h>
#include <weft/formats/io/npy.h>
#include <weft/formats/random.h>
#include <weft/search/records/record_file.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "tune_verb.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(TuneVerb, EndsWithAVerdictAndAScheduleToUse) {
  const ProcessResult result = tune(by_model);
  ASSERT_EQ(result.exit_code, 0) << result.error;
  EXPECT_THAT(result.output, AllOf(HasSubstr("fastest: "), HasSubstr("against dense: "),
                                   HasSubstr("bounded by: "), HasSubstr("schedule: best.weft.json")));
  EXPECT_THAT(result.error, AllOf(HasSubstr("20/20"), HasSubstr("best "), HasSubstr("x modelled dense)"),
                                  HasSubstr("fail 0")));
  EXPECT_EQ(RecordFile(path("t.jsonl"), RecordFile::Mode::read).records().size(), 20U);
  // Another run finds all of it, and says the same.
  const ProcessResult again = tune(by_model);
  EXPECT_EQ(again.output, result.output);
  EXPECT_THAT(again.error, HasSubstr("20 of 20 trials were in t.jsonl already"));

  const std::vector<std::string> problem{"--op", "spmm", "--weights", "made:M=64,K=96,sparsity=0.9",
                                         "--n",  "196",  "--dtype",   "f32"};
  std::vector<std::string> words{"verify", "--schedule", "best.weft.json", "--device", "sim:sm_90"};
  words.insert(words.end(), problem.begin(), problem.end());
  const ProcessResult verified = weft(words);
  EXPECT_EQ(verified.exit_code, 0) << verified.error;
  words = {"compile", "--schedule", "best.weft.json", "--target", "sm_90", "-o", "out"};
  words.insert(words.end(), problem.begin(), problem.end());
  EXPECT_EQ(weft(words).exit_code, 0);
  words = {"compile", "--schedule", "best.weft.json", "--target", "sm_80", "-o", "out"};
  words.insert(words.end(), problem.begin(), problem.end());
  const ProcessResult refused = weft(words);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.error, HasSubstr("tuned for sm_90, asked for sm_80"));
}

TEST_F(TuneVerb, JsonIsOneDocument) {
  std::vector<std::string> words = by_model;
  words.emplace_back("--json");
  const ProcessResult result = tune(words);
  ASSERT_EQ(result.exit_code, 0) << result.error;
  const auto json = nlohmann::json::parse(result.output);
  EXPECT_EQ(json.at("trials"), 20);
  EXPECT_EQ(json.at("best").at("measure"), "model");
  EXPECT_GT(json.at("verdict").at("speed_up").get<double>(), 0);
  EXPECT_EQ(json.at("verdict").at("dense").at("of"), "model");
  EXPECT_EQ(json.at("verdict").at("library_measured"), false);
  // Two launches by the model have nothing to say of each other.
  EXPECT_EQ(json.at("verdict").at("winner"), "none");
  EXPECT_FALSE(json.at("verdict").at("no_verdict").get<std::string>().empty());
  EXPECT_EQ(json.at("interrupted"), false);
}

TEST_F(TuneVerb, APlanIsMeasuredElsewhereAndComesBack) {
  const std::vector<std::string> problem{"--n", "64", "--dtype", "f32"};
  // Weights that are a file, as elsewhere there is no such path.
  Array weights(DType::f32, {64, 96});
  Random random(3);
  for (std::int64_t i = 0; i < weights.size(); ++i) {
    if (random.below(10) == 0) weights.set(i, random.normal());
  }
  write_npy(path("w.npy"), weights);
  std::vector<std::string> words{"tune",     "--weights", "w.npy",  "--target", "sm_80",
                                 "--trials", "5",         "--plan", "p"};
  words.insert(words.end(), problem.begin(), problem.end());
  const ProcessResult planned = weft(words);
  ASSERT_EQ(planned.exit_code, 0) << planned.error;
  EXPECT_THAT(planned.output, HasSubstr("5 points are in p"));
  fs::rename(path("w.npy"), path("gone.npy"));
  fs::rename(path("p"), path("elsewhere"));
  const ProcessResult measured = weft({"measure", "elsewhere", "--measure", "sim"});
  ASSERT_EQ(measured.exit_code, 0) << measured.error;
  EXPECT_THAT(measured.output, HasSubstr("fastest: "));
  EXPECT_EQ(RecordFile(path("elsewhere/results.jsonl"), RecordFile::Mode::read).records().size(), 5U);
  EXPECT_THAT(weft({"tune", "--absorb", "elsewhere", "--db", "t.jsonl"}).output,
              HasSubstr("5 of 5 trials added"));
  EXPECT_THAT(weft({"tune", "--absorb", "elsewhere", "--db", "t.jsonl"}).output,
              HasSubstr("0 of 5 trials added"));
  EXPECT_EQ(RecordFile(path("t.jsonl"), RecordFile::Mode::read).records()[0].record.source.at("weights"),
            "w.npy");
  const ProcessResult nowhere = weft({"measure", "nowhere", "--measure", "sim"});
  EXPECT_EQ(nowhere.exit_code, 2);
  EXPECT_THAT(nowhere.error, HasSubstr("nowhere/plan.json"));
  EXPECT_EQ(weft({"tune", "--n", "64"}).exit_code, 2);
}

TEST_F(TuneVerb, RefusesWhatItCannotDo) {
  const auto refusal = [&](std::vector<std::string> more, int code) {
    std::vector<std::string> words = by_model;
    words.insert(words.end(), more.begin(), more.end());
    const ProcessResult result = tune(words);
    EXPECT_EQ(result.exit_code, code) << result.error;
    return result.error;
  };
  EXPECT_THAT(refusal({"--strategy", "rnked"}, 2), HasSubstr("ranked"));
  EXPECT_THAT(refusal({"--time", "1x"}, 2), HasSubstr("1h30m"));
  EXPECT_THAT(refusal({"--recipes", "sparsrt"}, 2), HasSubstr("sparsert"));
  EXPECT_THAT(refusal({"--recipe", "sparsert"}, 2), HasSubstr("--recipes"));
  EXPECT_THAT(refusal({"--schedule", "best.weft.json"}, 2), HasSubstr("weft verify"));
  EXPECT_EQ(tune({"--target", "sm_90", "--measure", "mdel", "--db", "t.jsonl"}).exit_code, 2);
  EXPECT_EQ(tune({"--target", "sm_90", "--measure", "model", "--db", "/dev/full"}).exit_code, 1);
  EXPECT_EQ(tune(by_model).exit_code, 0);
  const ProcessResult other = tune({"--target", "sm_80", "--measure", "model", "--db", "t.jsonl"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.error, HasSubstr("another architecture"));
}

TEST_F(TuneVerb, WithoutADeviceItSaysSo) {
  const ProcessResult result = tune({"--device", "99", "--target", "sm_90", "--db", "t.jsonl"});
  EXPECT_THAT(result.exit_code, ::testing::AnyOf(5, 2)) << "2 where there is a device of another number";
}

TEST_F(TuneVerb, CtrlCFinishesTheTrialAndSaysHowToGoOn) {
  const std::vector<std::string> words =
      command({"--target", "sm_80", "--measure", "sim", "--trials", "200", "--db", "s.jsonl", "--jobs", "1"});
  const pid_t child = start(words);
  ASSERT_GT(child, 0);
  for (int i = 0; i < 400; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
    if (fs::exists(path("s.jsonl")) && fs::file_size(path("s.jsonl")) > 0) break;
  }
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_THAT(read_bytes(path("said")),
              AllOf(HasSubstr("stopped after"), HasSubstr("the same command goes on")));
  const RecordFile file(path("s.jsonl"), RecordFile::Mode::read);
  EXPECT_GE(file.records().size(), 1U);
  EXPECT_LT(file.records().size(), 200U);
  EXPECT_TRUE(file.warnings().empty());
}

/// Records of a file; none of them twice.
std::vector<std::string> keys_of(const std::string& path) {
  std::vector<std::string> keys;
  if (!fs::exists(path)) return keys;
  const RecordFile file(path, RecordFile::Mode::read);
  for (const StoredRecord& stored : file.records()) keys.push_back(stored.record.key());
  EXPECT_EQ(std::set(keys.begin(), keys.end()).size(), keys.size()) << "a trial is there twice";
  return keys;
}

TEST_F(TuneVerb, AHundredKillsLoseNothing) {
  constexpr int kills = 100;
  Random random(7);
  int killed = 0;
  int file_number = 0;
  int finished = 0;
  std::vector<std::string> known;
  std::string name = "0.jsonl";
  while (killed < kills) {
    const pid_t child = start(command({"--target", "sm_90", "--measure", "model", "--strategy", "feasible",
                                       "--trials", "150", "--db", name}));
    ASSERT_GT(child, 0);
    std::this_thread::sleep_for(std::chrono::microseconds(20'000 + random.below(150'000)));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    killed += WIFSIGNALED(status) ? 1 : 0;
    const std::vector<std::string> found = keys_of(path(name));
    ASSERT_GE(found.size(), known.size()) << "a record is lost";
    for (std::size_t i = 0; i < known.size(); ++i) ASSERT_EQ(found[i], known[i]);
    known = found;
    if (!WIFEXITED(status)) continue;
    ASSERT_EQ(WEXITSTATUS(status), 0) << read_bytes(path("said"));
    EXPECT_EQ(found.size(), 150U);
    ++finished;
    name = std::to_string(++file_number) + ".jsonl";
    known.clear();
  }
  // What is left goes on to its end, and is then what a search without a kill finds.
  EXPECT_EQ(tune({"--target", "sm_90", "--measure", "model", "--strategy", "feasible", "--trials", "150",
                  "--db", name})
                .exit_code,
            0);
  EXPECT_EQ(tune({"--target", "sm_90", "--measure", "model", "--strategy", "feasible", "--trials", "150",
                  "--db", "whole.jsonl"})
                .exit_code,
            0);
  const std::vector<std::string> some = keys_of(path(name));
  const std::vector<std::string> whole = keys_of(path("whole.jsonl"));
  EXPECT_EQ(std::set(some.begin(), some.end()), std::set(whole.begin(), whole.end()));
  RecordProperty("finished", finished);
}

TEST_F(TuneVerb, TwoOnOneFileShareTheWork) {
  const auto words = [&](const char* seed) {
    return command({"--target", "sm_90", "--measure", "model", "--strategy", "feasible", "--seed", seed,
                    "--trials", "120", "--db", "t.jsonl"});
  };
  const pid_t one = start(words("1"));
  const pid_t two = start(words("2"));
  for (const pid_t child : {one, two}) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  // Either may have had one under way when the other finished.
  EXPECT_THAT(keys_of(path("t.jsonl")).size(), AllOf(::testing::Ge(120U), ::testing::Le(122U)));
  EXPECT_TRUE(RecordFile(path("t.jsonl"), RecordFile::Mode::read).warnings().empty());
}

}  // namespace
}  // namespace weft
