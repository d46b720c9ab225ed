// What the verb tune answers: by whose trials, beside whose dense product, with commands that run; and what
// it refuses before it searches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/formats/io/read.h>
#include <weft/formats/random.h>
#include <weft/search/records/record_file.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tune_verb.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(TuneVerb, PlansAndTheirResultsAreJsonToo) {
  const ProcessResult planned =
      tune({"--target", "sm_80", "--trials", "3", "--plan", "p", "--json", "--measure", "model"});
  ASSERT_EQ(planned.exit_code, 0) << planned.error;
  const auto plan = nlohmann::json::parse(planned.output);
  EXPECT_EQ(plan.at("points"), 3);
  EXPECT_EQ(plan.at("kernels").get<int>() + static_cast<int>(plan.at("left_out").size()), 3);
  EXPECT_EQ(weft({"measure", "p", "--measure", "sim"}).exit_code, 0);
  const ProcessResult absorbed = weft({"tune", "--absorb", "p", "--db", "t.jsonl", "--json"});
  ASSERT_EQ(absorbed.exit_code, 0) << absorbed.error;
  EXPECT_EQ(nlohmann::json::parse(absorbed.output).at("added"), 3);
}

TEST_F(TuneVerb, AFormatIsAnsweredByItsOwnTrials) {
  const auto search = [&](std::vector<std::string> more) {
    std::vector<std::string> words{"--target", "cpu", "--measure", "cpu",       "--db",
                                   "f.jsonl",  "-o",  "best.json", "--recipes", "default"};
    words.insert(words.end(), more.begin(), more.end());
    return tune(words);
  };
  ASSERT_EQ(search({"--format", "csr"}).exit_code, 0);
  const ProcessResult ell = search({"--format", "ell"});
  ASSERT_EQ(ell.exit_code, 0) << ell.error;
  EXPECT_THAT(ell.error, ::testing::Not(HasSubstr("were in f.jsonl already")));
  EXPECT_THAT(ell.output, HasSubstr("there was nothing to choose: one point for ell on cpu"));
  const RecordFile file(path("f.jsonl"), RecordFile::Mode::read);
  ASSERT_EQ(file.records().size(), 2U);
  EXPECT_EQ(file.records()[0].record.pattern.kind, "csr");
  EXPECT_GT(file.records()[0].record.target.threads, 0);
  const Record& second = file.records()[1].record;
  EXPECT_EQ(second.pattern.kind, "ell");
  const auto best = nlohmann::json::parse(read_bytes(path("best.json")));
  EXPECT_EQ(best.at("format"), "ell");
  EXPECT_EQ(best.at("us").at("median"), second.microseconds->median);
  EXPECT_THAT(search({"--format", "ell"}).error, HasSubstr("1 of 1 trials were in f.jsonl already"));
  // Without a format: the fastest of all, as a schedule of its own format.
  ASSERT_EQ(search({}).exit_code, 0);
  const auto any = nlohmann::json::parse(read_bytes(path("best.json")));
  const Record& first = file.records()[0].record;
  EXPECT_EQ(any.at("us").at("median"), std::min(first.microseconds->median, second.microseconds->median));
  EXPECT_EQ(any.at("format"), any.at("pattern").at("kind"));
}

TEST_F(TuneVerb, FormatsOfHalvesInOneFileEndInAVerdict) {
  const auto search = [&](std::vector<std::string> more) {
    std::vector<std::string> words{
        "tune",  "--op",      "linear",  "--weights", "made:M=64,K=128,sparsity=0.75,V=64",
        "--n",   "64",        "--dtype", "f16",       "--target",
        "sm_80", "--measure", "model",   "--trials",  "2",
        "--db",  "e.jsonl"};
    words.insert(words.end(), more.begin(), more.end());
    return weft(words);
  };
  ASSERT_EQ(search({"--format", "csr", "--recipes", "default"}).exit_code, 0);
  const ProcessResult grouped = search({"--format", "shfl_bw:V=64"});
  EXPECT_EQ(grouped.exit_code, 0) << grouped.error;
  EXPECT_THAT(nlohmann::json::parse(read_bytes(path("best.weft.json"))).at("format").get<std::string>(),
              ::testing::StartsWith("shfl_bw:"));
  // And whatever is best of all is made in its own format.
  EXPECT_EQ(search({}).exit_code, 0);
}

TEST_F(TuneVerb, WithoutAFormatAllThatHoldTheWeightsAreSearched) {
  const std::vector<std::string> problem{"--weights", "made:M=64,K=128,sparsity=0.75", "--n", "64", "--dtype",
                                         "f16"};
  const auto call = [&](std::vector<std::string> words) {
    words.insert(words.end(), problem.begin(), problem.end());
    return weft(words);
  };
  const auto search = [&](std::vector<std::string> more) {
    std::vector<std::string> words{"tune",  "--target", "sm_80", "--measure",
                                   "model", "--trials", "12",    "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return call(words);
  };
  const auto formats_in = [&](const std::string& name) {
    std::set<std::string> formats;
    const RecordFile file(path(name), RecordFile::Mode::read);
    for (const StoredRecord& stored : file.records()) formats.insert(stored.record.pattern.kind);
    return formats;
  };
  const ProcessResult all = search({"--db", "all.jsonl"});
  ASSERT_EQ(all.exit_code, 0) << all.error;
  EXPECT_THAT(formats_in("all.jsonl"), ::testing::IsSupersetOf({"column_quads", "csr"}));
  const auto answer = nlohmann::json::parse(all.output);
  const std::string format = answer.at("verdict").at("format");
  EXPECT_GT(answer.at("verdict").at("formats").size(), 1U);
  EXPECT_EQ(answer.at("verdict").at("formats").at(0).at("format"), format);
  EXPECT_THAT(all.error, HasSubstr(" us in " + format + " ("));
  // Every trial is made again in its own format, and the best one without a word of it.
  const RecordFile file(path("all.jsonl"), RecordFile::Mode::read);
  std::set<std::string> replayed;
  for (const StoredRecord& stored : file.records()) {
    if (!replayed.insert(stored.record.pattern.kind).second) continue;
    const ProcessResult again = weft({"replay", "all.jsonl:" + std::to_string(stored.line)});
    EXPECT_EQ(again.exit_code, 0) << again.error;
    EXPECT_THAT(again.error, ::testing::Not(HasSubstr("has changed"))) << stored.record.pattern.kind;
  }
  EXPECT_EQ(nlohmann::json::parse(read_bytes(path("best.weft.json"))).at("pattern").at("kind"), format);
  // Older records say their format in the pattern alone, where nobody named it: csr.
  Record old = file.records().front().record;
  old.pattern.kind = "csr";
  old.recipe = "default";
  old.config.clear();
  old.source.erase("format");
  RecordFile(path("old.jsonl"), RecordFile::Mode::append).append(old);
  EXPECT_EQ(weft({"replay", "old.jsonl:2"}).exit_code, 0);
  const ProcessResult best =
      call({"verify", "--schedule", "best.weft.json", "--target", "sm_80", "--device", "sim:sm_80"});
  EXPECT_EQ(best.exit_code, 0) << best.error;
  ASSERT_EQ(search({"--db", "one.jsonl", "--format", "csr"}).exit_code, 0);
  EXPECT_EQ(formats_in("one.jsonl"), std::set<std::string>{"csr"});
  EXPECT_EQ(search({"--db", "two.jsonl", "--recipes", "v_n_m"}).exit_code, 0);
  EXPECT_THAT(formats_in("two.jsonl"), ::testing::Not(::testing::Contains("csr")));
}

TEST_F(TuneVerb, APlanHasTheTensorsOfItsFiles) {
  write_safetensors(path("m.safetensors"), {{"fc.bias", random_array(DType::f32, {64}, 1)},
                                            {"other", random_array(DType::f32, {3}, 2)}});
  const ProcessResult planned = tune({"--target", "sm_80", "--trials", "2", "--plan", "p", "--measure",
                                      "model", "--bias", "m.safetensors:fc.bias"});
  ASSERT_EQ(planned.exit_code, 0) << planned.error;
  fs::remove(path("m.safetensors"));
  const ProcessResult measured = weft({"measure", "p", "--measure", "sim"});
  EXPECT_EQ(measured.exit_code, 0) << measured.error;
}

TEST_F(TuneVerb, APlanNamesTheFormatOfEveryPoint) {
  const ProcessResult planned = weft({"tune", "--weights", "made:M=64,K=128,sparsity=0.75", "--n", "64",
                                      "--dtype", "f16", "--target", "sm_80", "--trials", "4", "--plan", "p"});
  ASSERT_EQ(planned.exit_code, 0) << planned.error;
  std::multiset<std::string> planned_formats, measured;
  const auto plan = nlohmann::json::parse(read_bytes(path("p/plan.json")));
  for (const auto& point : plan.at("points")) planned_formats.insert(point.at("format").get<std::string>());
  EXPECT_TRUE(planned_formats.contains("column_quads"));
  ASSERT_EQ(weft({"measure", "p", "--measure", "sim"}).exit_code, 0);
  const RecordFile file(path("p/results.jsonl"), RecordFile::Mode::read);
  for (const StoredRecord& stored : file.records()) measured.insert(stored.record.pattern.kind);
  EXPECT_EQ(measured, planned_formats);
}

TEST_F(TuneVerb, BesideWeftsOwnKernelNoLibraryIsClaimed) {
  const std::vector<std::string> words{
      "tune",      "--op",      "conv2d",  "--weights", "made:M=16,K=72,sparsity=0.95",
      "--filter",  "3x3",       "--image", "12x12",     "--dtype",
      "f64",       "--measure", "cpu",     "--db",      "c.jsonl",
      "--recipes", "default",   "--json"};
  const ProcessResult result = weft(words);
  ASSERT_EQ(result.exit_code, 0) << result.error;
  const auto json = nlohmann::json::parse(result.output);
  const auto& verdict = json.at("verdict");
  EXPECT_EQ(verdict.at("library_measured"), false);
  EXPECT_EQ(verdict.at("dense").at("of"), "weft");
  EXPECT_NE(verdict.at("winner"), "sparse");
  EXPECT_EQ(json.at("best").at("baselines").at(0).at("of"), "weft");
  std::vector<std::string> plain(words.begin(), words.end() - 1);
  const std::string text = weft(plain).output;
  EXPECT_THAT(text, HasSubstr("weft's own dense kernel"));
  EXPECT_THAT(text, HasSubstr("there was nothing to choose: one point for csr on cpu"));
}

TEST_F(TuneVerb, TheBestOfAnotherProblemIsRefusedWithWhatItIsOf) {
  ASSERT_EQ(tune(by_model).exit_code, 0);
  const auto use = [&](const char* verb, std::vector<std::string> more) {
    std::map<std::string, std::string> flags{
        {"--op", "spmm"}, {"--weights", "made:M=64,K=96,sparsity=0.9"}, {"--n", "196"}, {"--dtype", "f32"}};
    for (std::size_t i = 0; i + 1 < more.size(); i += 2) flags[more[i]] = more[i + 1];
    std::vector<std::string> words{verb};
    flags.try_emplace("--schedule", "best.weft.json");
    for (const auto& [flag, value] : flags) words.insert(words.end(), {flag, value});
    return weft(words);
  };
  const auto refusal = [&](const char* verb, const std::vector<std::string>& more) {
    const ProcessResult result = use(verb, more);
    EXPECT_EQ(result.exit_code, 2) << result.error;
    EXPECT_THAT(result.error, AllOf(HasSubstr("best.weft.json"), HasSubstr("it is of spmm 64x96x196 f32")));
    return result.error;
  };
  const std::vector<std::string> device{"--device", "sim:sm_90"};
  const auto on_device = [&](std::vector<std::string> more) {
    more.insert(more.end(), device.begin(), device.end());
    return more;
  };
  EXPECT_THAT(refusal("run", on_device({"--n", "64"})), HasSubstr("tuned for N = 196, asked for 64"));
  EXPECT_THAT(refusal("verify", on_device({"--dtype", "f16"})), HasSubstr("tuned for elements of f32"));
  EXPECT_THAT(refusal("verify", on_device({"--op", "linear"})), HasSubstr("bias"));
  EXPECT_THAT(refusal("verify", on_device({"--format", "ell"})), HasSubstr(", asked for ell"));
  EXPECT_THAT(refusal("verify", on_device({"--weights", "made:M=64,K=96,sparsity=0.8"})),
              HasSubstr("other weights"));
  EXPECT_THAT(refusal("verify", on_device({"--weights", "made:M=96,K=96,sparsity=0.9"})),
              HasSubstr("tuned for M = 64, asked for 96 (it is of"));
  EXPECT_THAT(
      refusal("verify", on_device({"--weights", "made:M=96,K=64,sparsity=0.9", "--n", "8"})),
      HasSubstr("tuned for K = 96, asked for 64; for M = 64, asked for 96; for N = 196, asked for 8"));
  EXPECT_THAT(refusal("compile", {"--target", "sm_80", "-o", "out"}),
              HasSubstr("tuned for sm_90, asked for sm_80"));
  // What the message proposes works: the list of steps alone is compared with nothing.
  const auto best = nlohmann::ordered_json::parse(read_bytes(path("best.weft.json")));
  std::ofstream(path("steps.json")) << best.at("schedule").dump();
  EXPECT_EQ(use("compile", {"--target", "sm_90", "-o", "out", "--alpha", "2", "--schedule", "steps.json",
                            "--format", best.at("format").get<std::string>()})
                .exit_code,
            0);
}

TEST_F(TuneVerb, ImpossibleFlagsAreToldBeforeTheSearch) {
  const auto refusal = [&](const std::vector<std::string>& more, const char* named) {
    std::vector<std::string> words{"--db", "t.jsonl"};
    if (more.front() != "--target") words.insert(words.end(), {"--target", "sm_90", "--measure", "model"});
    words.insert(words.end(), more.begin(), more.end());
    const ProcessResult result = tune(words);
    EXPECT_EQ(result.exit_code, 2) << more.back() << ": " << result.output;
    EXPECT_THAT(result.error, HasSubstr(named)) << more.back();
    EXPECT_FALSE(fs::exists(path("best.weft.json")));
    return result.error;
  };
  for (const char* trials : {"0", "-1", "1e9", "9223372036854775808"})
    refusal({"--trials", trials}, "--trials");
  for (const char* time : {"-1", "nan", "0", "5x", ""}) refusal({"--time", time}, "--time");
  for (const char* jobs : {"0", "-3", "1.5"}) refusal({"--jobs", jobs}, "--jobs");
  refusal({"--seed", "18446744073709551616"}, "--seed");
  EXPECT_THAT(refusal({"--set", "nosuch=3"}, "--set"), HasSubstr("threads"));
  refusal({"--set", "rows="}, "--set");
  refusal({"--set", "rows=3"}, "--set rows");
  EXPECT_THAT(refusal({"--recipes", "sparsrt"}, "--recipes sparsrt"), HasSubstr("sparsert"));
  EXPECT_THAT(refusal({"--recipes", "shfl_bw"}, "--recipes shfl_bw"), HasSubstr("sparsert, default"));
  refusal({"-o", "."}, "--out .");
  refusal({"-o", "nowhere/best.json"}, "no folder nowhere");
  EXPECT_THAT(refusal({"--target", "cpu", "--measure", "model"}, "--measure model"),
              HasSubstr("--measure cpu"));
  EXPECT_THAT(refusal({"--target", "cpu"}, "the target cpu"), HasSubstr("accepted: --measure cpu"));
  EXPECT_THAT(refusal({"--target", "sm_90", "--measure", "cpu"}, "--measure cpu"),
              HasSubstr("--measure sim or model, or gpu where there is one"));
  EXPECT_THAT(
      refusal({"--target", "cpu", "--measure", "cpu", "--recipes", "default", "--set", "rows=8"}, "--set"),
      HasSubstr("without knobs"));
  // What is given twice is given once more, and not in place of the first.
  EXPECT_EQ(tune({"--target", "sm_90", "--measure", "model", "--db", "u.jsonl", "--set", "rows=8", "--set",
                  "rows=16", "--strategy", "exhaustive"})
                .exit_code,
            0);
  std::set<std::int64_t> rows;
  const RecordFile file(path("u.jsonl"), RecordFile::Mode::read);
  for (const StoredRecord& stored : file.records()) rows.insert(stored.record.config.at("rows"));
  EXPECT_EQ(rows, (std::set<std::int64_t>{8, 16}));
}

TEST_F(TuneVerb, ADatabaseThatCannotBeIsAnErrorAndNoSearch) {
  const auto tried = [&](const char* database) {
    const ProcessResult result = tune({"--target", "sm_90", "--measure", "model", "--db", database});
    EXPECT_THAT(result.exit_code, ::testing::AnyOf(1, 2)) << database;
    EXPECT_THAT(result.error, HasSubstr(database));
    EXPECT_FALSE(fs::exists(path("best.weft.json"))) << database;
  };
  tried(".");
  tried("nowhere/t.jsonl");
  tried("/dev/full");
}

/// The commands of a report's page, as a shell gets them.
std::vector<std::string> commands_of(const std::string& page) {
  const std::string begin = "<pre class=\"command\">";
  std::vector<std::string> lines;
  for (std::size_t at = page.find(begin); at != std::string::npos; at = page.find(begin, at)) {
    at += begin.size();
    std::string& line = lines.emplace_back(page.substr(at, page.find("</pre>", at) - at));
    for (const auto& [escape, sign] :
         {std::pair{"&#39;", "'"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}}) {
      for (std::size_t found = line.find(escape); found != std::string::npos; found = line.find(escape))
        line.replace(found, std::string(escape).size(), sign);
    }
  }
  return lines;
}

TEST_F(TuneVerb, AReportsCommandsRun) {
  const auto check = [&](const std::string& database, const std::vector<std::string>& more) {
    std::vector<std::string> words{"--db", database, "--trials", "3"};
    words.insert(words.end(), more.begin(), more.end());
    ASSERT_EQ(tune(words).exit_code, 0) << database;
    const auto trials = [&] { return RecordFile(path(database), RecordFile::Mode::read).records().size(); };
    const std::size_t before = trials();
    ASSERT_EQ(weft({"report", "--db", database, "-o", "r.html", "--no-kernel"}).exit_code, 0);
    const std::vector<std::string> commands = commands_of(read_bytes(path("r.html")));
    ASSERT_EQ(commands.size(), 2U) << database;
    for (const std::string& command : commands) {
      ASSERT_TRUE(command.starts_with("weft ")) << command;
      ProcessOptions here;
      here.folder = path("");
      const ProcessResult result = run_process({"/bin/sh", "-c", WEFT_COMMAND + command.substr(4)}, here);
      EXPECT_EQ(result.exit_code, 0) << command << "\n" << result.error;
    }
    // The search goes on: as many trials more.
    EXPECT_GE(trials(), 2 * before);
  };
  check("cpu.jsonl", {"--target", "cpu", "--measure", "cpu", "--format", "ell"});
  check("a model's.jsonl", {"--target", "sm_80", "--measure", "model"});
  check("sim.jsonl", {"--target", "sm_90", "--measure", "sim"});
}

}  // namespace
}  // namespace weft
