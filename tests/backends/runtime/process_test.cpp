#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <weft/backends/runtime/process.h>
#include <weft/dsl/errors.h>

#include <chrono>
#include <csignal>

namespace weft {
namespace {

using ::testing::HasSubstr;

TEST(Process, CapturesBothOutputsAndTheExitCode) {
  const ProcessResult result = run_process({"sh", "-c", "echo out; echo err >&2; exit 7"});
  EXPECT_EQ(result.output, "out\n");
  EXPECT_EQ(result.error, "err\n");
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_FALSE(result.succeeded());
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(text_of_end(result, {}), "exit code 7");
}

TEST(Process, WordsReachTheProgramAsTheyAre) {
  const ProcessResult result = run_process({"printf", "%s|", "a b", "$HOME", "\"; exit 1"});
  EXPECT_EQ(result.output, "a b|$HOME|\"; exit 1|");
  EXPECT_TRUE(result.succeeded());
}

TEST(Process, StandardInputIsEmpty) {
  EXPECT_EQ(run_process({"cat"}).output, "");
}

TEST(Process, RunsInTheFolderAskedFor) {
  const TemporaryFolder folder;
  ProcessOptions options;
  options.folder = folder.path();
  EXPECT_TRUE(run_process({"touch", "here"}, options).succeeded());
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "here"));
}

TEST(Process, EndsAfterItsLimitTogetherWithWhatItStarted) {
  const TemporaryFolder folder;
  ProcessOptions options;
  options.limit_seconds = 0.3;
  options.folder = folder.path();
  const ProcessResult result = run_process({"sh", "-c", "(sleep 2; touch survived) & sleep 60"}, options);
  EXPECT_TRUE(result.timed_out);
  EXPECT_FALSE(result.succeeded());
  EXPECT_LT(result.seconds, 1.5);
  EXPECT_EQ(text_of_end(result, options), "no end within 0.3 s");
  EXPECT_TRUE(run_process({"sleep", "2.2"}).succeeded());
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "survived"));
}

TEST(Process, WorkApartAnswersWithBytes) {
  const std::string bytes = std::string("a\0b", 3) + std::string(300000, 'x');
  const ProcessResult result = run_apart([&] { return bytes; });
  EXPECT_TRUE(result.succeeded());
  EXPECT_EQ(result.output, bytes);
}

TEST(Process, AnExceptionOfWorkApartIsItsText) {
  const ProcessResult result = run_apart([]() -> std::string { throw RuntimeError("the disk is gone"); });
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.error, "the disk is gone");
}

TEST(Process, ACrashOfWorkApartCostsThatProcessAlone) {
  const ProcessResult result = run_apart([]() -> std::string {
    raise(SIGSEGV);
    return "";
  });
  EXPECT_FALSE(result.succeeded());
  EXPECT_EQ(text_of_end(result, {}), "signal 11");
}

TEST(Process, WorkApartEndsAfterItsLimit) {
  ProcessOptions options;
  options.limit_seconds = 0.3;
  const ProcessResult result = run_apart(
      []() -> std::string {
        for (;;) sleep(1);
      },
      options);
  EXPECT_TRUE(result.timed_out);
  EXPECT_LT(result.seconds, 1.5);
}

TEST(Process, EndlessOutputIsBoundedInTimeAndBytes) {
  ProcessOptions options;
  options.limit_seconds = 0.3;
  options.output_limit = 1000;
  const ProcessResult result = run_process({"yes"}, options);
  EXPECT_TRUE(result.timed_out);
  EXPECT_LT(result.seconds, 2);
  EXPECT_EQ(result.output.size(), 1000U);
}

TEST(Process, LongOutputOnBothPipesDoesNotBlock) {
  const ProcessResult result =
      run_process({"sh", "-c", "head -c 3000000 /dev/zero >&2; head -c 3000000 /dev/zero"});
  EXPECT_TRUE(result.succeeded());
  EXPECT_EQ(result.output.size(), 3000000U);
  EXPECT_EQ(result.error.size(), 3000000U);
}

TEST(Process, DoesNotWaitForAChildLeftBehind) {
  const ProcessResult result = run_process({"sh", "-c", "sleep 30 & echo done"});
  EXPECT_EQ(result.output, "done\n");
  EXPECT_LT(result.seconds, 5);
}

TEST(Process, ASignalIsReported) {
  const ProcessResult result = run_process({"sh", "-c", "kill -9 $$"});
  EXPECT_EQ(result.signal, 9);
  EXPECT_EQ(text_of_end(result, {}), "signal 9");
}

TEST(Process, AMissingProgramIsARuntimeError) {
  try {
    run_process({"/no/such/program"});
    FAIL();
  } catch (const RuntimeError& error) {
    EXPECT_THAT(error.what(), HasSubstr("starting /no/such/program: No such file"));
  }
}

TEST(TemporaryFolder, GoesWithItsContents) {
  std::filesystem::path path;
  {
    const TemporaryFolder folder;
    path = folder.path();
    const std::string bytes("a\0b", 3);
    write_bytes(path / "file", bytes);
    EXPECT_EQ(read_bytes(path / "file"), bytes);
    write_bytes(path / "empty", "");
    EXPECT_EQ(read_bytes(path / "empty"), "");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_THROW(read_bytes(path / "file"), RuntimeError);
  EXPECT_THROW(write_bytes(path / "file", "x"), UserError);
}

}  // namespace
}  // namespace weft
