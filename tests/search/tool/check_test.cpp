// The verb check, from its options to its answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <weft/formats/io/npy.h>
#include <weft/formats/synthetic.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "call_weft.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class CheckVerb : public ::testing::Test {
 protected:
  CheckVerb() : folder_(std::filesystem::temp_directory_path() / ("weft_check_" + std::to_string(getpid()))) {
    std::filesystem::create_directory(folder_);
    const WeightMatrix layer =
        synthetic_layer({.rows = 128, .columns = 64, .sparsity = 0.8, .dtype = DType::f16});
    Array dense(DType::f16, {128, 64});
    for (std::int64_t row = 0; row < 128; ++row) {
      for (std::int64_t i = layer.row_begin[static_cast<std::size_t>(row)];
           i < layer.row_begin[static_cast<std::size_t>(row + 1)]; ++i)
        dense.set(row * 64 + layer.column[static_cast<std::size_t>(i)], 1);
    }
    write_npy(weights(), dense);
  }
  ~CheckVerb() override { std::filesystem::remove_all(folder_); }

  std::string weights() const { return (folder_ / "w.npy").string(); }
  std::filesystem::path folder() const { return folder_; }

  int check(std::vector<std::string> options, const std::string& format = "shfl_bw:V=64",
            const std::string& columns = "196") {
    std::vector<std::string> all{"check", "--op",    "spmm", "--weights", weights(), "--n",
                                 columns, "--dtype", "f16",  "--format",  format};
    all.insert(all.end(), options.begin(), options.end());
    VerbAnswer answer = call_weft(std::move(all));
    printed = std::move(answer.out);
    said = std::move(answer.errors);
    return answer.code;
  }

  std::string printed;
  std::string said;

 private:
  std::filesystem::path folder_;
};

TEST_F(CheckVerb, SaysWhatClashesAndWhatWouldFit) {
  EXPECT_EQ(check({"--target", "sm_75", "--set", "tile_m=256", "--set", "tile_n=512", "--set", "stages=8"}),
            3);
  EXPECT_THAT(printed, StartsWith("infeasible on sm_75: "));
  EXPECT_THAT(printed, HasSubstr("rows of a group 256 tile_m = 256 rows > 64 rows"));
  EXPECT_THAT(printed, HasSubstr("copies ahead 8 stages > 1 stages"));
  EXPECT_THAT(printed, HasSubstr("B > 65536 B"));
  EXPECT_THAT(printed, HasSubstr("feasible with "));
  EXPECT_THAT(printed, HasSubstr("stages = 1 and tile_m = "));
}

TEST_F(CheckVerb, AnswersWithAPoint) {
  EXPECT_EQ(check({"--target", "sm_80,sm_90a", "--set", "tile_n=128,stages=3"}), 0) << said;
  EXPECT_THAT(printed, HasSubstr("feasible on sm_80: "));
  EXPECT_THAT(printed, HasSubstr("tile_n = 128"));
  EXPECT_THAT(printed, HasSubstr("\nfeasible on sm_90a: "));
  EXPECT_EQ(check({"--target", "sm_80", "--set", "stages=3", "--explain"}), 0);
  EXPECT_THAT(printed, HasSubstr("bytes of shared memory of a block"));
}

TEST_F(CheckVerb, InJson) {
  EXPECT_EQ(check({"--target", "sm_86", "--set", "tile_n=512,tile_k=64,stages=6", "--json"}), 3) << said;
  const auto document = nlohmann::json::parse(printed).at(0);
  EXPECT_EQ(document.at("answer"), "infeasible");
  EXPECT_EQ(document.at("recipe"), "shfl_bw");
  const auto& constraint = document.at("clashes").at(0).at("constraints").at(0);
  EXPECT_EQ(constraint.at("name"), "shared memory");
  EXPECT_GT(constraint.at("value"), constraint.at("limit"));
  EXPECT_EQ(constraint.at("limit"), 101376);
  EXPECT_EQ(constraint.at("parts").at("B"), 64 * 512 * 2 * 6);
  EXPECT_FALSE(document.at("nearest").empty());
  EXPECT_EQ(check({"--target", "sm_86", "--set", "stages=2", "--json"}), 0);
  EXPECT_EQ(nlohmann::json::parse(printed).at(0).at("witness").at("stages"), 2);
}

TEST_F(CheckVerb, RecipesAndTheirWords) {
  EXPECT_EQ(check({"--target", "sm_80", "--recipe", "sparsert:form=baked", "--set", "chunk=16"}, "csr"), 0)
      << said;
  EXPECT_THAT(printed, HasSubstr("form = baked"));
  EXPECT_EQ(check({"--target", "sm_80", "--set", "form=streaming,chunk=16"}, "csr"), 3);
  EXPECT_THAT(printed, HasSubstr("form = streaming"));
}

TEST_F(CheckVerb, ChoosesWhatIsNotNamed) {
  const auto chosen = [&](std::vector<std::string> more) {
    std::vector<std::string> words{"check",   "--weights", weights(), "--n",      "4096",
                                   "--dtype", "f16",       "--json",  "--target", "sm_90a"};
    words.insert(words.end(), more.begin(), more.end());
    const VerbAnswer answer = call_weft(words);
    EXPECT_EQ(answer.code, 0) << answer.errors;
    said = answer.errors;
    return nlohmann::json::parse(answer.out).at(0);
  };
  const auto free = chosen({});
  // Which one is the business of learnt times.
  const std::string recipe = free.at("recipe"), format = free.at("format");
  EXPECT_NE(recipe, "default");
  EXPECT_THAT(said, HasSubstr("chosen for sm_90a: " + recipe + " in " + format));
  // Knobs and recipes say what it can be.
  EXPECT_EQ(chosen({"--set", "form=baked"}).at("recipe"), "sparsert");
  EXPECT_EQ(chosen({"--recipe", "sparsert:chunk=16"}).at("format"), "csr");
  EXPECT_EQ(chosen({"--format", "csr"}).at("format"), "csr");
}

TEST_F(CheckVerb, OfAScheduleWithKnobs) {
  const std::string path = (folder() / "s.json").string();
  std::ofstream(path)
      << R"([{"step": "split", "arguments": [["n", {"knob": "tile_n", "values": [64, 2048]}]]},
                             {"step": "bind", "arguments": [["", "n.outer"], ["", "block_x"]]},
                             {"step": "bind", "arguments": [["", "n.inner"], ["", "thread"]]}])";
  EXPECT_EQ(check({"--target", "sm_80", "--schedule", path}, "csr", "4096"), 0) << said;
  EXPECT_THAT(printed, HasSubstr("tile_n = 64"));
  EXPECT_EQ(check({"--target", "sm_80", "--schedule", path, "--set", "tile_n=2048"}, "csr", "4096"), 3)
      << said;
  EXPECT_THAT(printed,
              HasSubstr("threads 2048 tile_n = 2048 threads > 1024 threads; feasible with tile_n <= 64"));
}

TEST_F(CheckVerb, RefusalsSayWhatThereIs) {
  EXPECT_EQ(check({"--target", "sm_80", "--set", "tile_o=64"}), 2);
  EXPECT_THAT(said, HasSubstr("did you mean tile_"));
  EXPECT_EQ(check({"--target", "sm_80", "--set", "tile_n"}), 2);
  EXPECT_EQ(check({"--target", "sm_80", "--set", "stages"}), 2);
  EXPECT_THAT(said, HasSubstr("accepted: --set stages="));
  EXPECT_EQ(check({"--target", "sm_80", "--recipe", "shfl_bw:stages=x"}), 2);
  EXPECT_THAT(said, AllOf(HasSubstr("--recipe"), Not(HasSubstr("--set"))));
  EXPECT_EQ(check({"--target", "sm_80", "--set", "stage"}), 2);
  EXPECT_THAT(said, HasSubstr("did you mean stages?"));
  EXPECT_EQ(check({"--target", "sm_80", "--set", "tile_n=64,tile_n=128"}), 2);
  EXPECT_EQ(check({"--target", "sm_80", "--set", "instruction=wgma"}), 2);
  EXPECT_THAT(said, HasSubstr("did you mean wgmma?"));
  EXPECT_EQ(check({"--target", "sm_80", "--recipe", "sparsert"}), 2);
  EXPECT_THAT(said, HasSubstr("not csr"));
  EXPECT_EQ(check({"--target", "cpu"}), 0);
}

}  // namespace
}  // namespace weft
