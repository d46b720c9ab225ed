// What weft tune --plan writes for a machine without weft: its program in C, with a simulated driver in the
// place of NVIDIA's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/runtime/process.h>
#include <weft/search/records/record_file.h>

#include <filesystem>

namespace weft {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class PlanRunner : public ::testing::Test {
 public:
  ProcessResult run(const std::vector<std::string>& words, const std::string& within = "") const {
    ProcessOptions options;
    options.folder = folder_.path() / within;
    return run_process(words, options);
  }
  const fs::path& folder() const { return folder_.path(); }
  fs::path path(const std::string& name) const { return folder_.path() / name; }

  /// Writes the plan "p" and compiles its runner.
  void plan(const std::vector<std::string>& problem, const std::vector<std::string>& compiler = {}) const {
    std::vector<std::string> words{WEFT_COMMAND, "tune", "--target", "sm_80", "--trials", "4", "--plan", "p"};
    words.insert(words.end(), problem.begin(), problem.end());
    const ProcessResult planned = run(words);
    ASSERT_EQ(planned.exit_code, 0) << planned.error;
    ASSERT_THAT(planned.output, HasSubstr("without weft there, 4 kernels"));
    words = {WEFT_C_COMPILER, "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1"};
    words.insert(words.end(), compiler.begin(), compiler.end());
    for (const char* word : {"runner.c", "-ldl", "-lm", "-o", "runner"}) words.emplace_back(word);
    const ProcessResult compiled = run(words, "p");
    ASSERT_EQ(compiled.exit_code, 0) << compiled.error;
  }
  ProcessResult measure(const std::string& driver = WEFT_SIMULATED_DRIVER) const {
    return run({"env", "LD_LIBRARY_PATH=" + driver, "./runner"}, "p");
  }
  std::vector<Record> results() const {
    const RecordFile file(path("p/results.jsonl").string(), RecordFile::Mode::read);
    EXPECT_TRUE(file.warnings().empty());
    std::vector<Record> records;
    for (const StoredRecord& stored : file.records()) records.push_back(stored.record);
    return records;
  }

 private:
  TemporaryFolder folder_;
};

const std::vector<std::string> product{"--op", "spmm", "--weights", "made:M=64,K=96,sparsity=0.9",
                                       "--n",  "40",   "--dtype",   "f32"};

TEST_F(PlanRunner, MeasuresWithoutWeftAndComesBack) {
  plan(product);
  const ProcessResult measured = measure();
  ASSERT_EQ(measured.exit_code, 0) << measured.error;
  const std::vector<Record> records = results();
  ASSERT_EQ(records.size(), 4U);
  for (const Record& record : records) {
    EXPECT_EQ(record.status, TrialStatus::correct) << record.message;
    EXPECT_GT(record.time_of_correct().value_or(0), 0);
    EXPECT_EQ(record.measure, "gpu");
    EXPECT_EQ(record.target.name, "sm_80");
    ASSERT_TRUE(record.verified);
    EXPECT_LT(record.verified->relative, 1e-6);
    EXPECT_EQ(record.verified->rows, 64);
  }
  EXPECT_THAT(measure().output, HasSubstr("0 measured; results.jsonl has all 4"));
  EXPECT_EQ(results().size(), 4U);
  EXPECT_THAT(run({WEFT_COMMAND, "tune", "--absorb", "p", "--db", "t.jsonl"}).output,
              HasSubstr("4 of 4 trials added"));
  EXPECT_THAT(run({WEFT_COMMAND, "db", "best", "t.jsonl"}).output, HasSubstr("64"));
}

TEST_F(PlanRunner, StartsTheCopiesOfOperandsToo) {
  std::vector<std::string> across = product;
  across.insert(across.end(), {"--layout", "nk"});
  plan(across);
  const ProcessResult measured = measure();
  ASSERT_EQ(measured.exit_code, 0) << measured.error;
  for (const Record& record : results()) {
    EXPECT_EQ(record.status, TrialStatus::correct) << record.message;
    EXPECT_EQ(record.problem.word("algorithm"), "C[n, m] = sum(k, A[m, k] * B[n, k])");
  }
}

TEST_F(PlanRunner, TensorCoresEpiloguesAndOldOutputs) {
  plan({"--op", "spmm", "--weights", "made:M=64,K=96,sparsity=0.75,V=32", "--n", "64", "--dtype", "f16",
        "--format", "shfl_bw:V=32", "--activation", "relu", "--beta", "0.5"});
  const ProcessResult measured = measure();
  ASSERT_EQ(measured.exit_code, 0) << measured.error;
  ASSERT_EQ(results().size(), 4U);
  for (const Record& record : results()) EXPECT_EQ(record.status, TrialStatus::correct) << record.message;
}

TEST_F(PlanRunner, AKernelThatHangsOrCannotBeLoadedCostsOneTrial) {
  plan(product, {"-DSECONDS_OF_A_CANDIDATE=2"});
  for (const char* image : {"p/kernels/0", "p/kernels/1"}) fs::remove(path(std::string(image) + ".cubin"));
  write_bytes(path("p/kernels/0.ptx"), "no PTX");
  // Round and round before it returns.
  std::string text = read_bytes(path("p/kernels/1.ptx"));
  const std::size_t end = text.find("\tret;");
  ASSERT_NE(end, std::string::npos);
  text.insert(end, "$round:\n\tbra.uni $round;\n");
  write_bytes(path("p/kernels/1.ptx"), text);
  ASSERT_EQ(measure().exit_code, 0);
  const std::vector<Record> records = results();
  ASSERT_EQ(records.size(), 4U);
  EXPECT_EQ(records[0].status, TrialStatus::runtime);
  EXPECT_THAT(records[0].message, HasSubstr("loading the kernel"));
  EXPECT_TRUE(records[1].status == TrialStatus::timeout || records[1].status == TrialStatus::runtime);
  EXPECT_EQ(records[2].status, TrialStatus::correct);
  EXPECT_EQ(records[3].status, TrialStatus::correct);
}

TEST_F(PlanRunner, WrongResultsAreNotTimed) {
  plan(product);
  std::string expected = read_bytes(path("p/data/expected.bin"));
  expected[expected.size() - 2] = static_cast<char>(expected[expected.size() - 2] + 16);
  write_bytes(path("p/data/expected.bin"), expected);
  ASSERT_EQ(measure().exit_code, 0);
  for (const Record& record : results()) {
    EXPECT_EQ(record.status, TrialStatus::correctness);
    EXPECT_FALSE(record.microseconds);
  }
}

TEST_F(PlanRunner, ADriverThatCrashesCostsTrials) {
  plan(product);
  const std::string text = read_bytes(path("p/driver.h"));
  std::string driver = "#include <stdlib.h>\n";
  for (std::size_t at = text.find("\"cu"); at != std::string::npos; at = text.find("\"cu", at + 1)) {
    const std::string name = text.substr(at + 1, text.find('"', at + 1) - at - 1);
    if (name.find('.') != std::string::npos || name == "cubin") continue;
    driver += "int " + name + "(void) { " + (name == "cuModuleLoadData" ? "abort();" : "return 0;") + " }\n";
  }
  write_bytes(path("driver.c"), driver);
  const ProcessResult compiled = run({WEFT_C_COMPILER, "-shared", "-fPIC", "driver.c", "-o", "libcuda.so.1"});
  ASSERT_EQ(compiled.exit_code, 0) << compiled.error;
  // It claims to be sm_0, so ask for that.
  std::string candidates = read_bytes(path("p/candidates.h"));
  const std::size_t at = candidates.find("architecture = 80");
  ASSERT_NE(at, std::string::npos);
  candidates.replace(at, 17, "architecture = 0");
  write_bytes(path("p/candidates.h"), candidates);
  ASSERT_EQ(run({WEFT_C_COMPILER, "runner.c", "-ldl", "-lm", "-o", "runner"}, "p").exit_code, 0);
  ASSERT_EQ(measure(folder().string()).exit_code, 0);
  ASSERT_EQ(results().size(), 4U);
  for (const Record& record : results()) {
    EXPECT_EQ(record.status, TrialStatus::runtime);
    EXPECT_EQ(record.message, "signal 6");
  }
}

TEST_F(PlanRunner, SaysWhereNothingCanBeMeasured) {
  plan(product);
  const ProcessResult other = run(
      {"env", std::string("LD_LIBRARY_PATH=") + WEFT_SIMULATED_DRIVER, "SIMULATED_CAPABILITY=75", "./runner"},
      "p");
  EXPECT_EQ(other.exit_code, 5);
  EXPECT_THAT(other.error, HasSubstr("the device is sm_75"));
}

}  // namespace
}  // namespace weft
