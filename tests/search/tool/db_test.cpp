// The verbs db and replay, as they are called.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <weft/backends/runtime/process.h>
#include <weft/search/records/record_file.h>

#include <filesystem>
#include <sstream>

namespace weft {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class DbVerb : public ::testing::Test {
 public:
  DbVerb() : folder_(fs::temp_directory_path() / ("weft_db_" + std::to_string(getpid()))) {
    fs::create_directory(folder_);
    for (const char* trials : {"20", "30"}) {
      const std::string db = std::string(trials) + ".jsonl";
      tune({"--measure", "model", "--target", "sm_90", "--strategy", "feasible", "--trials", trials, "--db",
            db});
    }
  }
  ~DbVerb() override { fs::remove_all(folder_); }
  DbVerb(const DbVerb&) = delete;
  DbVerb& operator=(const DbVerb&) = delete;

  fs::path path(const std::string& name) const { return folder_ / name; }
  ProcessResult weft(std::vector<std::string> words) const {
    ProcessOptions options;
    options.folder = folder_;
    words.insert(words.begin(), WEFT_COMMAND);
    return run_process(words, options);
  }
  ProcessResult tune(std::vector<std::string> more) const {
    std::vector<std::string> words{"tune", "--weights", "made:M=64,K=96,sparsity=0.9", "--n", "64"};
    words.insert(words.end(), more.begin(), more.end());
    return weft(words);
  }

 private:
  fs::path folder_;
};

TEST_F(DbVerb, MergesOnce) {
  EXPECT_THAT(weft({"db", "merge", "20.jsonl", "30.jsonl", "-o", "all.jsonl"}).output,
              HasSubstr("30 records added to all.jsonl, 20 were there already"));
  EXPECT_THAT(weft({"db", "merge", "20.jsonl", "-o", "all.jsonl"}).output, HasSubstr("0 records added"));
  tune({"--measure", "model", "--target", "sm_80", "--trials", "2", "--db", "old.jsonl"});
  const ProcessResult refused = weft({"db", "merge", "old.jsonl", "-o", "all.jsonl"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.error, HasSubstr("--allow-arch"));
  EXPECT_EQ(weft({"db", "merge", "old.jsonl", "-o", "all.jsonl", "--allow-arch"}).exit_code, 0);
}

TEST_F(DbVerb, ConfigurationsCanBePastedBehindAnotherVerb) {
  std::istringstream rows(weft({"db", "query", "30.jsonl"}).output);
  int pasted = 0;
  for (std::string row; std::getline(rows, row);) {
    const std::size_t begin = row.find("--format");
    if (begin == std::string::npos) continue;
    std::vector<std::string> words{"compile", "--weights", "made:M=64,K=96,sparsity=0.9",
                                   "--n",     "64",        "--target",
                                   "sm_90",   "--out",     "out"};
    std::istringstream configuration(row.substr(begin));
    for (std::string word; configuration >> word;) words.push_back(word);
    if (++pasted > 4) break;
    const ProcessResult result = weft(words);
    EXPECT_EQ(result.exit_code, 0) << row << result.error;
  }
  EXPECT_GT(pasted, 3);
}

TEST_F(DbVerb, MergesTwoArchitecturesWhollyOrNotAtAll) {
  tune({"--measure", "model", "--target", "sm_80", "--trials", "2", "--db", "old.jsonl"});
  const ProcessResult refused = weft({"db", "merge", "20.jsonl", "old.jsonl", "-o", "new.jsonl"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.error, AllOf(HasSubstr("old.jsonl:2"), HasSubstr("sm_80, where 20.jsonl:2 is of sm_90"),
                                   HasSubstr("--target sm_90"), HasSubstr("--allow-arch")));
  EXPECT_FALSE(fs::exists(path("new.jsonl"))) << "the first of them was written";
  // Both ways that it proposes.
  EXPECT_THAT(weft({"db", "merge", "20.jsonl", "old.jsonl", "-o", "new.jsonl", "--target", "sm_90"}).output,
              HasSubstr("20 records added"));
  EXPECT_THAT(weft({"db", "merge", "20.jsonl", "old.jsonl", "-o", "new.jsonl", "--allow-arch"}).output,
              HasSubstr("2 records added"));
}

TEST_F(DbVerb, SaysOnceWhichLinesItPassesOver) {
  write_bytes(path("bad.jsonl"),
              read_bytes(path("20.jsonl")) +
                  R"({"kernel":"spmm","recipe":"r","config":{},"status":"correct","us":{"median":-5}})" +
                  "\n");
  const ProcessResult best = weft({"db", "best", "bad.jsonl"});
  EXPECT_EQ(best.exit_code, 0);
  EXPECT_THAT(best.error, AllOf(HasSubstr("warning: "), HasSubstr("bad.jsonl:22"), HasSubstr("us.median"),
                                HasSubstr("-5"), HasSubstr("accepted: ")));
  EXPECT_EQ(best.error.find("bad.jsonl"), best.error.rfind("bad.jsonl")) << "twice: " << best.error;
  EXPECT_EQ(best.output.find("-0."), std::string::npos);
  EXPECT_EQ(weft({"db", "query", "20.jsonl", "--limit", "-5"}).exit_code, 2);
  EXPECT_EQ(weft({"db", "query", "20.jsonl", "--M", "-3"}).exit_code, 2);
}

TEST_F(DbVerb, Answers) {
  const ProcessResult best = weft({"db", "best", "30.jsonl"});
  EXPECT_EQ(best.exit_code, 0) << best.error;
  EXPECT_THAT(best.output,
              AllOf(HasSubstr("spmm 64x96x64 f32, 90.0 % zero, sm_90, model"), HasSubstr("sparsert")));
  EXPECT_THAT(weft({"db", "stats", "20.jsonl", "30.jsonl"}).output, HasSubstr("50 trials of 1 problems"));
  const std::string lines = weft({"db", "query", "30.jsonl", "--json", "--limit", "3"}).output;
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 3);
  EXPECT_EQ(record_of(lines.substr(0, lines.find('\n'))).kernel, "spmm");
  EXPECT_THAT(weft({"db", "regret", "30.jsonl", "--searched", "20.jsonl"}).output, HasSubstr("mean "));
  EXPECT_THAT(weft({"db", "export", "30.jsonl", "--to", "csv"}).output, HasSubstr("line,time,kernel"));
  EXPECT_EQ(weft({"db", "export", "30.jsonl", "--to", "xls"}).exit_code, 2);
  EXPECT_EQ(weft({"db", "query", "30.jsonl", "--status", "crashed"}).exit_code, 2);
  EXPECT_EQ(weft({"db", "query", "none.jsonl"}).exit_code, 2);
}

TEST_F(DbVerb, ReplayMakesTheKernelAgain) {
  const ProcessResult again = weft({"replay", "20.jsonl:4", "-o", "out", "--device", "sim:sm_90"});
  EXPECT_EQ(again.exit_code, 0) << again.error;
  EXPECT_THAT(again.output, AllOf(HasSubstr("recorded: "), HasSubstr("by model"), HasSubstr("right: "),
                                  HasSubstr("now: "), HasSubstr("kernel.ptx")));
  EXPECT_EQ(again.error.find("has changed"), std::string::npos);
  const ProcessResult beyond = weft({"replay", "20.jsonl:100"});
  EXPECT_EQ(beyond.exit_code, 2);
  EXPECT_THAT(beyond.error, HasSubstr("lines 2 to 21"));
  EXPECT_EQ(weft({"replay", "20.jsonl"}).exit_code, 2);
  const ProcessResult others = weft({"replay", "20.jsonl:4", "--weights", "made:M=64,K=96,sparsity=0.8"});
  EXPECT_EQ(others.exit_code, 2);
  EXPECT_THAT(others.error, HasSubstr("not those of the record"));
}

}  // namespace
}  // namespace weft
