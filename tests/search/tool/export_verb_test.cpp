// What the verb export refuses, before it compiles anything, and what it leaves alone.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <weft/backends/runtime/process.h>

#include <filesystem>

#include "call_weft.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ExportVerb : public ::testing::Test {
 public:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  /// `weft export` of one small kernel into out/ with these words besides.
  VerbAnswer exported(std::vector<std::string> more) const {
    std::vector<std::string> words{"export",     "--weights", "made:M=24,K=32,sparsity=0.8",
                                   "--n",        "1:64",      "--dtype",
                                   "f32",        "--archs",   "sm_80",
                                   "--ptx-only", "-o",        path("out")};
    words.insert(words.end(), more.begin(), more.end());
    return call_weft(words);
  }

 private:
  TemporaryFolder folder_;
};

struct Wrong {
  std::vector<std::string> words;
  std::vector<std::string> phrases;
};

TEST_F(ExportVerb, RefusesWhatWouldHaveNoEffect) {
  const auto of = [&](const std::string& archs, const std::string& sizes, std::vector<std::string> more) {
    std::vector<std::string> words{"export",   "--weights", "made:M=24,K=32,sparsity=0.8",
                                   "--n",      sizes,       "--dtype",
                                   "f32",      "--archs",   archs,
                                   "--name",   "ffn",       "-o",
                                   path("out")};
    words.insert(words.end(), more.begin(), more.end());
    const VerbAnswer answer = call_weft(words);
    EXPECT_EQ(answer.code, 2) << answer.errors;
    return answer.errors;
  };
  EXPECT_THAT(of("x86-64-v3", "1:16", {"--ptx-only"}),
              AllOf(HasSubstr("--archs x86-64-v3"), HasSubstr("sm_80")));
  EXPECT_THAT(of("x86-64-v3", "1:16", {"--emitter", "cuda"}), HasSubstr("CUDA source is for GPUs"));
  EXPECT_THAT(of("sm_80", "1:16,32,1:16", {}),
              AllOf(HasSubstr("where:    --n"), HasSubstr("found:    1 to 16")));
}

TEST_F(ExportVerb, TakesTheScheduleOfASearchForItsSize) {
  const std::vector<std::string> of{"--weights", "made:M=24,K=32,sparsity=0.8", "--dtype", "f32"};
  const auto with = [&](std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), of.begin(), of.end());
    words.insert(words.end(), more.begin(), more.end());
    return call_weft(words);
  };
  const VerbAnswer tuned = with({"tune"}, {"--n", "48", "--target", "sm_80", "--measure", "model", "--trials",
                                           "2", "--db", path("t.jsonl"), "-o", path("best.json")});
  ASSERT_EQ(tuned.code, 0) << tuned.errors;
  const auto exported_for = [&](const std::string& n) {
    return with({"export"}, {"--n", n, "--archs", "sm_80", "--schedule", path("best.json"), "--name", "ffn",
                             "--ptx-only", "-o", path("tuned")});
  };
  EXPECT_EQ(exported_for("48").code, 0) << exported_for("48").errors;
  EXPECT_THAT(exported_for("49").errors, HasSubstr("tuned for N = 48, asked for 49"));
}

TEST_F(ExportVerb, LeavesTheNumberOfImagesToTheLaunch) {
  const std::vector<std::string> convolution{
      "export",  "--op",    "conv2d",    "--weights", "made:M=8,K=36,sparsity=0.7",
      "--image", "9x7",     "--pad",     "1",         "--filter",
      "3x3",     "--dtype", "f32",       "--archs",   "sm_80",
      "--name",  "images",  "--ptx-only"};
  const auto exported_for = [&](const std::string& batch, const std::string& folder) {
    std::vector<std::string> words = convolution;
    words.insert(words.end(), {"--batch", batch, "-o", path(folder)});
    return call_weft(words);
  };
  const VerbAnswer open = exported_for("1:6", "open");
  ASSERT_EQ(open.code, 0) << open.errors;
  EXPECT_THAT(read_bytes(path("open") + "/include/images.h"),
              AllOf(HasSubstr("int64_t batch;       /* 1 to 6;"), HasSubstr("f32 [batch, 4, 9, 7]")));
  const VerbAnswer fixed = exported_for("3", "fixed");
  ASSERT_EQ(fixed.code, 0) << fixed.errors;
  EXPECT_THAT(read_bytes(path("fixed") + "/include/images.h"), HasSubstr("f32 [3, 4, 9, 7]"));
  const VerbAnswer wrong = exported_for("6:1", "wrong");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.errors, AllOf(HasSubstr("where:    --batch"), HasSubstr("1:6")));
  EXPECT_THAT(exported({"--name", "ffn", "--batch", "2"}).errors, HasSubstr("the operation has no images"));
}

TEST_F(ExportVerb, RefusesNamesAndTextsBeforeItCompiles) {
  const std::vector<Wrong> all{
      {{"--name", "NULL"}, {"a name of <stdio.h>", "such as NULL_layer"}},
      {{"--name", "stdin"}, {"a name of <stdio.h>", "such as stdin_layer"}},
      {{"--name", "EOF"}, {"a name of <stdio.h>"}},
      {{"--name", "INFINITY"}, {"a name of <math.h>"}},
      {{"--name", "errno"}, {"a name of <errno.h>"}},
      {{"--name", "signal"}, {"a name of <signal.h>"}},
      {{"--name", "main"}, {"CUDA C++"}},
      {{"--name", "string"}, {"the header <string.h>"}},
      {{"--name", "int"}, {"no identifier", "a word of C and C++"}},
      {{"--name", "a b"}, {"no identifier", "such as a_b"}},
      {{}, {"no identifier", "such as made_M_24_K_32_sparsity_0"}},  // that of the weights
      {{"--name", "ffn", "--spdx", "*/ evil"}, {"no SPDX expression", "\"*/ evil\"", "such as MIT"}},
      {{"--name", "ffn", "--spdx", "MIT\n#error"}, {"no SPDX expression", "MIT\\n#error"}},
      {{"--name", "ffn", "--license", "nosuch"}, {"cannot read nosuch", "--license", "no such file"}},
      {{"--name", "ffn", "--measured", "/"}, {"cannot read /", "--measured", "a folder"}},
      {{"--name", "ffn", "--archs", "sm_80"}, {"named twice", "--archs"}},
      {{"--name", "ffn", "--archs", "cpu"},
       {"--archs", "no kernels for that target", "x86-64-v3, x86-64-v4, aarch64"}},
      {{"--name", "ffn", "--archs", "x86-64-v2"},
       {"--archs", "no target of that name", "x86-64-v3, x86-64-v4, aarch64"}}};
  for (const Wrong& wrong : all) {
    const VerbAnswer answer = exported(wrong.words);
    SCOPED_TRACE(::testing::PrintToString(wrong.words) + "\n" + answer.errors);
    EXPECT_EQ(answer.code, 2);
    for (const std::string& phrase : wrong.phrases) EXPECT_THAT(answer.errors, HasSubstr(phrase));
    EXPECT_THAT(answer.errors, AllOf(HasSubstr("found: "), HasSubstr("accepted: ")));
    EXPECT_FALSE(fs::exists(path("out")));
  }
}

TEST_F(ExportVerb, TakesProcessorsBesideGpus) {
  const VerbAnswer answer = exported({"--name", "ffn", "--archs", "x86-64-v3"});
  ASSERT_EQ(answer.code, 0) << answer.errors;
  EXPECT_THAT(answer.out, AllOf(HasSubstr("sm_80"), HasSubstr("shared bytes"), Not(HasSubstr("x86-64"))));
  EXPECT_TRUE(fs::exists(path("out/src/ffn_x86_64_v3.S")));
  EXPECT_TRUE(fs::exists(path("out/src/ffn_sm_80_0.cu")));
}

TEST_F(ExportVerb, LeavesAProjectOfOnesOwnAlone) {
  fs::create_directory(path("out"));
  write_bytes(path("out/CMakeLists.txt"), "project(mine)\n");
  const VerbAnswer answer = exported({"--name", "ffn"});
  EXPECT_EQ(answer.code, 2);
  EXPECT_THAT(answer.errors,
              AllOf(HasSubstr("not written over"), HasSubstr("CMakeLists.txt"), HasSubstr("-o FOLDER")));
  EXPECT_EQ(read_bytes(path("out/CMakeLists.txt")), "project(mine)\n");
  EXPECT_EQ(exported({"--name", "ffn", "-o", path("other")}).code, 2) << "-o twice";
}

TEST_F(ExportVerb, AFullDiskLeavesTheEarlierPackage) {
  ASSERT_EQ(exported({"--name", "ffn"}).code, 0);
  const std::string before = read_bytes(path("out/manifest.json"));
  rlimit former{};
  getrlimit(RLIMIT_FSIZE, &former);
  const rlimit small{4096, former.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const ProcessResult full =
      run_process({WEFT_COMMAND, "export", "--weights", "made:M=24,K=40,sparsity=0.8", "--n", "1:64",
                   "--dtype", "f32", "--archs", "sm_90", "--ptx-only", "--name", "ffn", "-o", path("out")});
  setrlimit(RLIMIT_FSIZE, &former);
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_THAT(full.error, AllOf(HasSubstr("cannot write " + path("out/")), HasSubstr("File too large")));
  EXPECT_EQ(read_bytes(path("out/manifest.json")), before);
  EXPECT_THAT(exported({"--name", "ffn"}).out, HasSubstr("files"));
}

}  // namespace
}  // namespace weft
