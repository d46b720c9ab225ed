// The verb bench, from its options to its lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "call_weft.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

class BenchVerb : public ::testing::Test {
 protected:
  BenchVerb() : folder_(std::filesystem::temp_directory_path() / ("weft_bench_" + std::to_string(getpid()))) {
    std::filesystem::create_directory(folder_);
    std::ofstream(suite()) << R"({"suite": "small", "dtype": "f16", "sparsity": [0.5, 0.75], "V": [16, 32],
                                  "problems": [{"model": "toy", "M": 32, "K": 48, "N": 8},
                                               {"model": "other", "M": 20, "K": 30, "N": 9}]})";
  }
  ~BenchVerb() override { std::filesystem::remove_all(folder_); }

  std::string suite() const { return (folder_ / "suite.json").string(); }
  std::string log() const { return (folder_ / "lines").string(); }

  /// The exit code; what it says on stderr is in `said`.
  int bench(std::vector<std::string> options) {
    std::vector<std::string> all{"bench", "--suite", suite(), "--device", "cpu", "--rounds", "1"};
    all.insert(all.end(), options.begin(), options.end());
    VerbAnswer answer = call_weft(std::move(all));
    printed = std::move(answer.out);
    said = std::move(answer.errors);
    return answer.code;
  }

  std::vector<nlohmann::json> lines() const {
    std::vector<nlohmann::json> all;
    std::ifstream file(log());
    for (std::string line; std::getline(file, line);) all.push_back(nlohmann::json::parse(line));
    return all;
  }

  std::string printed;
  std::string said;

 private:
  std::filesystem::path folder_;
};

TEST_F(BenchVerb, MeasuresTheChosenPart) {
  EXPECT_EQ(bench({"--only", "toy", "--sparsity", "0.75", "--json", log()}), 0) << said;
  const auto all = lines();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0]["V"], 16);
  EXPECT_EQ(all[1]["V"], 32);
  EXPECT_EQ(all[1]["problem"]["M"], 32);
  EXPECT_EQ(all[1]["sparsity"]["found"], 0.75);
  EXPECT_THAT(printed, HasSubstr("over pruned"));
  EXPECT_EQ(bench({"--only", "20x30x9", "--V", "32", "--sparsity", "0.9", "--json", log()}), 0) << said;
  EXPECT_EQ(lines().size(), 3U) << "lines are appended";
  EXPECT_EQ(lines().back()["V"], 32);
}

TEST_F(BenchVerb, MeasuresPatterns) {
  std::ofstream(suite()) << R"({"suite": "pairs", "dtype": "f16", "patterns": ["2:4", "16:2:8"],
                                "problems": [{"model": "toy", "M": 40, "K": 52, "N": 8}]})";
  EXPECT_EQ(bench({"--json", log()}), 0) << said;
  const auto all = lines();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0]["pattern"], "2:4");
  EXPECT_EQ(all[1]["pattern"], "16:2:8");
  EXPECT_EQ(all[1]["V"], 16);
  EXPECT_EQ(all[1]["sparsity"]["nnz"], 40 * (6 * 2 + 2));
  for (const auto& line : all) {
    ASSERT_EQ(line["entries"].size(), 1U);
    EXPECT_EQ(line["entries"][0]["name"], "weft v_n_m");
    EXPECT_EQ(line["entries"][0]["verify"]["rows"], 40);
  }
  EXPECT_THAT(printed, testing::AllOf(HasSubstr("pattern"), HasSubstr("16:2:8"), HasSubstr("of L2")));
  EXPECT_EQ(bench({"--pattern", "16:2:4", "--json", log()}), 0) << said;
  EXPECT_EQ(lines().back()["pattern"], "16:2:4");
  EXPECT_EQ(bench({"--sparsity", "0.5"}), 2);
  EXPECT_THAT(said, HasSubstr("a suite with \"patterns\" has the sparsity of each"));
}

std::string plug_in(const std::string& name) {
  return std::string(WEFT_PLUG_INS) + "/" + name;
}

class BenchOfPlugIns : public BenchVerb {
 protected:
  BenchOfPlugIns() {
    std::ofstream(suite()) << R"({"suite": "small", "dtype": "f32", "sparsity": [0.75],
                                  "problems": [{"M": 32, "K": 48, "N": 8}]})";
  }
};

TEST_F(BenchOfPlugIns, StandInTheTableAndInTheLines) {
  EXPECT_EQ(bench({"--recipe", "default", "--contestant", plug_in("right"), "--contestant",
                   plug_in("refusing"), "--json", log()}),
            0)
      << said;
  EXPECT_THAT(printed, testing::AllOf(
                           HasSubstr("contestant right"),
                           HasSubstr("no time: contestant refusing: it does not take the problem: only on")));
  EXPECT_THAT(said, HasSubstr("contestant right 1.5 (libplug_in_right.so)"));
  const auto line = lines().back();
  EXPECT_THAT(line["libraries"], testing::Contains("contestant right 1.5 (libplug_in_right.so)"));
  const auto& entries = line["entries"];
  ASSERT_GE(entries.size(), 3U);
  const auto& own = entries[entries.size() - 2];
  EXPECT_EQ(own["name"], "contestant right");
  EXPECT_GT(own["us"]["median"], 0);
  EXPECT_EQ(own["verify"]["rows"], 32);
}

TEST_F(BenchOfPlugIns, WhoIsWrongIsTold) {
  EXPECT_EQ(bench({"--recipe", "default", "--contestant", plug_in("wrong"), "--json", log()}), 4);
  EXPECT_THAT(printed, testing::AllOf(HasSubstr("WRONG"), HasSubstr("no time: contestant wrong: ")));
  const auto own = lines().back()["entries"].back();
  EXPECT_EQ(own["wrong"], true);
  EXPECT_FALSE(own.contains("us"));
}

TEST_F(BenchOfPlugIns, FoldersWithoutALibraryAreRefused) {
  EXPECT_EQ(bench({"--contestant", "/dev"}), 2);
  EXPECT_THAT(said, testing::AllOf(HasSubstr("--contestant /dev"), HasSubstr("no *.so, but ")));
}

TEST(SimulatedBench, CountsClocksOfBlocks) {
  const auto folder = std::filesystem::temp_directory_path() / ("weft_clocks_" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const std::string suite = (folder / "suite.json").string(), plot = (folder / "plot.svg").string(),
                    log = (folder / "lines").string();
  std::ofstream(suite) << R"({"suite": "figure", "dtype": "f16", "density": [0.9],
                              "problems": [{"M": 64, "K": 16, "N": 64}, {"M": 40, "K": 70, "N": 24}]})";
  const auto bench = [&](std::vector<std::string> options) {
    std::vector<std::string> all{"bench", "--suite", suite, "--rounds", "1"};
    all.insert(all.end(), options.begin(), options.end());
    return call_weft(std::move(all));
  };
  const VerbAnswer answer = bench({"--plot", plot, "--json", log});
  EXPECT_EQ(answer.code, 0) << answer.errors;
  EXPECT_THAT(answer.out, testing::AllOf(HasSubstr("64x16x64"), HasSubstr("one width over HB-ELL")));
  std::ifstream file(log);
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  const auto first = nlohmann::json::parse(line);
  EXPECT_EQ(first["device"], "sim:sm_70_swmma");
  EXPECT_NEAR(first["density"], 0.9, 0.001);
  // 16 columns with some full row: four pieces of one width, and one dense block.
  EXPECT_EQ(first["entries"][0]["blocks"], 16);
  EXPECT_EQ(first["entries"][1]["blocks"], 4);
  EXPECT_GT(first["entries"][0]["clocks"], first["entries"][1]["clocks"]);
  std::ifstream picture(plot);
  ASSERT_TRUE(std::getline(picture, line));
  EXPECT_THAT(line, testing::StartsWith("<svg xmlns="));
  EXPECT_THAT(bench({"--recipe", "default"}).errors, HasSubstr("nothing follows the option"));
  EXPECT_THAT(bench({"--contestant", "/"}).errors, HasSubstr("no --contestant"));
  EXPECT_THAT(bench({"--device", "cpu"}).errors, HasSubstr("for another device"));
  std::filesystem::remove_all(folder);
}

TEST_F(BenchVerb, RefusesWhatDoesNotFitTheSuite) {
  EXPECT_EQ(bench({"--recipe", "sparsert"}), 2);
  EXPECT_THAT(said, HasSubstr("no such recipe for this suite"));
  EXPECT_EQ(bench({"--data", "/"}), 2);
  EXPECT_THAT(said, HasSubstr("read weights do not fit the suite"));
  EXPECT_EQ(bench({"--only", "toys"}), 2);
  EXPECT_THAT(said, HasSubstr("1, 2, a label, or a size as in 32x48x8"));
  EXPECT_EQ(bench({"--V", "0"}), 2);
  EXPECT_EQ(bench({"--plot", "plot.svg"}), 2);
  EXPECT_THAT(said, HasSubstr("no plot of such a suite"));
}

}  // namespace
}  // namespace weft
