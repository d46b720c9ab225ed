// Command lines that nobody can follow: each ends with the code of its kind and a sentence that names what is
// wrong, without a signal and without a word of another library.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <weft/formats/io/npy.h>
#include <weft/formats/io/read.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "wrong_call.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class WrongWordsTest : public WrongCallTest {
 protected:
  static void SetUpTestSuite() {
    WrongCallTest::SetUpTestSuite();
    write_npy("large.npy", Array::of(std::vector<float>{1, 70000, 2, 3}));
    write_npy("filter.npy", random_array(DType::f32, {4, 2, 3, 3}, 1));
    std::ofstream("steps.json") << R"([{"step": "split", "arguments": [["n", 4]]}])";
    std::ofstream("suite.json") << R"({"suite": "mine", "dtype": "f32", "sparsity": [0.5], "problems": [)"
                                << R"({"id": 1, "M": 32, "K": 48, "N": 8}]})";
    std::ofstream("trials.jsonl")
        << R"({"weftdb":1,"created":"2026-11-24T03:00:00Z"})"
        << "\n"
        << R"({"kernel":"spmm","problem":{"M":32,"K":48,"N":8,"dtype":"f32","acc":"f32"},)"
        << R"("pattern":{"kind":"csr","nnz":300,"hash":"csr"},"target":{"sm":"sm_80","gpu":"A"},)"
        << R"("recipe":"sparsert","config":{},"status":"correct","measure":"gpu","us":{"median":2.5,"n":5}})"
        << "\n";
  }
};

TEST_F(WrongWordsTest, FlagsThatTheOperationHasNoUseForAreRefused) {
  const WrongCall all[] = {
      {"verify --weights w.npy --op conv2d --filter 1x1 --image 4x4 --n 8", "--op spmm or linear, or no --n"},
      {"run --weights w.npy --op spmv --n 8", "--op spmm or linear, or no --n"},
      {"verify --weights w.npy --n 8 --image 4x4", "--op conv2d, or no --image"},
      {"verify --weights w.npy --n 8 --filter 3x3", "--op conv2d, or no --filter"},
      {"verify --weights w.npy --n 8 --batch 2", "--op conv2d, or no --batch"},
      {"verify --weights w.npy --n 8 --pad 1", "--op conv2d, or no --pad"},
      {"verify --weights w.npy --n 8 --stride 1", "--op conv2d, or no --stride"},
      {"compile --weights w.npy --n 8 --dilation 1", "--op conv2d, or no --dilation"},
      {"compile --weights w.npy --op linear --n 8 --layout nchw", "nhwc, chwn with --op conv2d"},
      {"verify --weights w.npy --n 8 --c random:1", "--beta 1, or no --c"},
      {"verify --weights made:M=32,K=48,sparsity=0.8 --n 8 --tensor w", "made weights have no tensors"},
      {"verify --weights w.npy --n 8 --device sim:sm_80 --threads 2", "threads are of a CPU"},
      {"verify --weights w.npy --n 8 --emitter cuda", "CUDA source is for GPUs"},
      {"run --weights w.npy --n 8 --out c.csv", "accepted: c.npy"},
      {"run --weights w.npy --n 8 -o c.csv", "accepted: c.npy"},
      {"help run", "accepted: weft run --help"},
      {"run help", "accepted: weft run --help"},
      {"compile --weights w.npy --n 8 --target cpu --emitter cuda", "CUDA source is for GPUs"},
      {"run --weights w.npy --n 8 --every-lane-arrives", "or no --every-lane-arrives"},
      {"prune w.npy --format csr --sparsity 0.5 --attempts 4", "--format shfl_bw:V=64, or no --attempts"},
      {"tune --weights w.npy --n 8 --measure model --device 3", "--measure gpu, or no --device"},
      {"train --db trials.jsonl --emit c", "accepted: -o tree.json: the source goes beside it"},
      {"train --db trials.jsonl --cv 1", "one part cannot be judged by others"},
  };
  for (const WrongCall& wrong : all) expect_usage(wrong);
}

TEST_F(WrongWordsTest, NumbersThatNothingCanHaveAreRefused) {
  const WrongCall all[] = {
      {"verify --weights w.npy --n 0", "--n 256, at least 1"},
      {"verify --weights w.npy --n -5", "--n 256, at least 1"},
      {"verify --weights w.npy --n 1:0", "--n"},
      {"verify --weights w.npy --n nan", "--n"},
      {"verify --weights w.npy --n ''", "--n"},
      {"verify --weights w.npy --n 99999999999", "do not fit into memory\n  where:    --n, "},
      {"verify --weights w.npy --n 9223372036854775807", "2^48"},
      {"verify --weights w.npy --n 99999999999999999999", "one whole number from 1 on"},
      {"verify --weights w.npy --n 8 --threads -4", "1 to 1024, or 0 for one a core"},
      {"verify --weights w.npy --n 8 --threads 99999", "1 to 1024, or 0 for one a core"},
      {"verify --weights w.npy --n 8 --alpha nan", "a finite number"},
      {"verify --weights w.npy --n 8 --beta inf", "a finite number"},
      {"verify --weights w.npy --n 8 --seed -1", "--seed"},
      {"verify --weights w.npy --n 8 --b random:-1", "a seed cannot be read"},
      {"verify --weights w.npy --n 8 --bias random:", "a seed cannot be read"},
      {"verify --weights w.npy --n 8 --device sim:sm_999", "sm_999"},
      {"verify --weights w.npy --n 8 --device cuda:-1", "cuda:<number>"},
      {"verify --weights w.npy --n 8 --device ''", "reading the name of a device"},
      {"verify --weights w.npy --n 8 --target sm_999", "sm_999"},
      {"compile --weights w.npy --n 8 --target ''", "target"},
      {"compile --weights w.npy --n 8 --target sm_80,sm_81 -o out", "sm_81"},
      {"verify --weights w.npy --n 8 --dtype f8", "f32, f16, bf16, f64, e4m3, e5m2 or i8"},
      {"verify --weights w.npy --n 8 --format csr:order=sideways", "order"},
      {"verify --weights w.npy --n 8 --format bcsr:b=0", "b"},
      {"verify --weights w.npy --n 8 --format bcsr:b=-4", "b"},
      {"verify --weights w.npy --n 8 --format bcsr:b=99999999999999999999", "b"},
      {"verify --weights w.npy --n 8 --format ''", "format"},
      {"verify --weights w.npy --op ''", "spmm, spmv, linear or conv2d"},
      {"verify --weights w.npy --op conv2d --filter 1x1 --image 0x0", "a number from 1 to"},
      {"verify --weights filter.npy --op conv2d --filter 3x3 --image 8x8 --pad same",
       "1x1, by which filters"},
      {"verify --weights large.npy --n 4 --dtype f16", "row 0, column 1"},
      {"verify --weights large.npy --n 4 --dtype f16", "70000, and 1 of 4 weights"},
      {"verify --weights large.npy --n 4 --dtype f16", "--dtype bf16, f32, f64"},
      {"verify --weights w.npy --op conv2d --filter 0x0 --image 4x4", "--filter"},
      {"verify --weights w.npy --op conv2d --filter 1x1 --image -4x4", "--image"},
      {"verify --weights w.npy --op conv2d --filter 1x1 --image x", "--image"},
      {"verify --weights w.npy --op conv2d --filter 1x1 --image 4x4x4", "--image"},
      {"verify --weights w.npy --op conv2d --filter 1x1 --image 99999999x99999999", "2^48"},
      {"verify --weights w.npy --op conv2d --filter 1x1 --image 99999999999999999", "--image"},
      {"verify --weights w.npy --op conv2d --filter 5x5 --image 9x9", "the filter does not divide"},
      {"verify --weights filter.npy --op conv2d --filter 1x1 --image 9x9", "--filter 3x3, or none"},
      {"verify --weights w.npy --op conv2d --filter 4x4 --image 3x3", "the filter does not fit the image"},
      {"verify --weights w.npy --op conv2d --filter 1x1 --image 4x4 --stride 0", "--stride"},
      {"verify --weights w.npy --op conv2d --filter 1x1 --image 4x4 --dilation 0", "--dilation"},
      {"verify --weights w.npy --op conv2d --filter 1x1 --image 4x4 --pad -1", "--pad"},
      {"verify --weights w.npy --op conv2d --filter 1x1 --image 4x4 --batch -1", "batch"},
      {"verify --weights w.npy --op conv2d --filter 1x1 --image 4x4 --batch 0", "batch"},
      {"verify --weights w.npy --op conv2d --filter 1x1 --image 4x4 --layout hwcn", "nchw, nhwc or chwn"},
      {"verify --weights made:M=-1,K=8,sparsity=0.5 --n 8", "made weights cannot be read"},
      {"verify --weights made:M=1e99,K=8,sparsity=0.5 --n 8", "made weights cannot be read"},
      {"verify --weights made:M=1.5,K=8,sparsity=0.5 --n 8", "made weights cannot be read"},
      {"verify --weights made:M=nan,K=8,sparsity=0.5 --n 8", "made weights cannot be read"},
      {"verify --weights made:M=8,K=8,sparsity=nan --n 8", "made weights cannot be read"},
      {"verify --weights made:M=8,K=8,sparsity=1 --n 8", "made weights cannot be read"},
      {"verify --weights made:M=8,K=8,sparsity=-0.5 --n 8", "made weights cannot be read"},
      {"verify --weights made:M=8,K=8,sparsity=0.5,V=0 --n 8", "made weights cannot be read"},
      {"verify --weights made:M=8,K=8,sparsity=0.5,M=9 --n 8", "made weights cannot be read"},
      {"verify --weights made:M=999999999,K=999999999,sparsity=0.5 --n 8", "at most 2^32 places"},
      {"verify --weights made: --n 8", "made weights cannot be read"},
      {"verify --weights '' --n 8", "cannot read"},
      {"verify --weights w.npy --n 8 --activation elu", "none, relu, relu6, gelu, tanh, sigmoid, silu"},
      {"prune w.npy --format csr --sparsity nan -o p.npy", "sparsity"},
      {"prune w.npy --format csr --sparsity 1 -o p.npy", "sparsity"},
      {"prune w.npy --format csr --sparsity -0.1 -o p.npy", "sparsity"},
      {"prune w.npy --format csr -o p.npy", "--sparsity 0.75"},
      {"prune w.npy --format bcsr:b=0 --sparsity 0.5", "b"},
      {"prune w.npy --format csr --sparsity 0.5 --attempts -1", "--attempts"},
      {"prune w.npy --format csr --sparsity 0.5 --seed -1", "--seed"},
      {"prune w.npy --format csr --sparsity 0.5 -o p.txt", ".safetensors or .npy"},
      {"check --weights w.npy --n 8 --target sm_80 --set rows", "accepted: --set rows="},
      {"check --weights w.npy --n 8 --target ''", "target"},
      {"check --weights w.npy --n 8 --target sm_80 --set tile_n=99999999999999999999", "tile_n"},
      {"check --weights w.npy --n 8 --target cpu --set nosuch=1", "nosuch"},
      {"demo w.npy --n 0", "a whole number from 1 to"},
      {"demo w.npy --n -1", "a whole number from 1 to"},
      {"inspect w.npy --tensor nosuch", "nosuch"},
      {"plot trials.jsonl -o speed.png", "a name that ends with .svg"},
      {"plot trials.jsonl --chart pie -o speed.svg", "accepted: recipes, problems, rates"},
      {"plot trials.jsonl --over nosuch -o speed.svg", "nothing of that name was timed"},
      {"plot trials.jsonl --chart rates --over cuBLAS -o speed.svg", "no --over"},
      {"export --weights w.npy --n 8 --archs sm80", "accepted: sm_75, sm_80"},
      {"verify --weights w.npy --n 8 --format csr --recipe shfl_bw --device sim:sm_80",
       "--dtype f16 or --dtype bf16, with no --format or with --format shfl_bw:V=64"},
  };
  for (const WrongCall& wrong : all) expect_usage(wrong);
}

TEST_F(WrongWordsTest, WhatIsSaidNamesTheOption) {
  const WrongCall all[] = {
      {"verify --weights w.npy --n 8 --device sim:sm_85", "where:    --device\n"},
      {"verify --weights w.npy --n 8 --device gpu", "where:    --device\n"},
      {"verify --weights w.npy --n 8 --device sim:sm_80 --target sm_85", "where:    --target\n"},
      {"compile --weights w.npy --n 8 --target sm_85", "where:    --target\n"},
      {"export --weights w.npy --n 8 --archs sm_85 -o ffn", "where:    --archs\n"},
      {"check --weights w.npy --n 8 --target sm_80 --set row=64", "where:    --set\n"},
      {"verify --weights w.npy --n 8 --format scr", "where:    --format, "},
      {"verify --weights w.npy --n 8 --format csr:V=64", "where:    --format, csr:V=64\n"},
      {"prune w.npy --format scr --sparsity 0.5", "where:    --format, "},
      {"prune w.npy --format csr --sparsity 0.5 --scores nosuch.npy", "where:    --scores\n"},
      {"verify --weights w.nyp --n 8", "where:    --weights\n"},
      {"verify --weights w.npy --n 8 --schedule nosuch.json", "where:    --schedule\n"},
      {"verify --weights w.npy --n 8 --b nosuch.npy", "where:    --b\n"},
      {"bench --suite w.npy", "where:    --suite, w.npy, line 1\n"},
      {"export --weights w.npy --n 8 --archs sm_80 --name signal -o ffn", "(--name)"},
      {"predict --tree w.npy --weights w.npy --n 8", "where:    --tree, w.npy, "},
      {"verify --weights filter.npy --op conv2d --image 2x2", "where:    --image 2x2, height"},
      {"verify --weights w.npy --n 8 --recipe cpu_rows:panel=32,copy=image",
       "where:    --recipe cpu_rows:panel=32,copy=image, "},
      {"verify --weights w.npy --n 64 --dtype f64 --recipe cpu_code:rows=8",
       "where:    --recipe cpu_code:rows=8, C[m, n]"},
      {"verify --weights w.npy --n 8 --schedule empty.json --recipe default",
       "--schedule and --recipe exclude one another"},
  };
  for (const WrongCall& wrong : all) expect_usage(wrong);
}

TEST_F(WrongWordsTest, WhatIsSaidNamesWordsThatWork) {
  const WrongCall all[] = {
      {"verify --weights w.npy --n 8 --device sim:sm_91", "did you mean sim:sm_90?"},
      {"verify --weights w.npy --op conv2d --image 8x8", "--filter 1x1, or a weight of four"},
      {"compile --weights w.npy --n 8 --target cpu -o w.npy", "where:    --out\n"},
      {"verify --weights w.npy --n 8 --b random", "accepted: random:7, ints:7, zeros"},
      {"verify --weights w.npy --n 8 --alpha two", "accepted: a number: factor of the sum"},
      {"tune --weights w.npy --n 8 --trials ten",
       "accepted: a whole number from 1 to 1000000000: with those"},
      {"compile --weights w.npy --n 8 --emitter llwm", "accepted: llvm, cuda: GPU code"},
      {"inspect w.npy --format csr", "accepted: --help"},
      {"export --weights w.npy --n 512:1 --archs sm_80 -o ffn", "is between them: 1:512"},
      {"export --weights w.npy --n 9:15:8 --archs sm_80 -o ffn", "is between them: 9:15"},
      {"db best w.npy", R"("\x93NUMPY)"},
      {"verify --weights filter.npy --op conv2d --image 2x2", ": --pad 1 would do"},
      {"verify --weights w.npy --n 64 --dtype f64 --recipe cpu_code:rows=8", "f32, f16 or bf16 weights"},
      {"inspect steps.json", "weft run --schedule steps.json reads this one"},
      {"run --weights w.npy --n 8 --schedule w.npy", R"("\x93NUMPY)"},
      {"verify w.npy --n 8 --format 2:4", "2:4 is n_m"},
      {"verify w.npy --n 8 --format 64:2:8", "64:2:8 is v_n_m:V=64,M=8"},
      {"verify w.npy --n 8 --format csr,ell", "one of them and a comma"},
      {"verify w.npy --n 8 --format bcsr:16", "accepted: bcsr:b=16"},
      {"verify --weights filter.npy --op conv3d --image 8x8", "accepted: spmm, spmv, linear or conv2d"},
      {"verify --weights filter.npy --op conv2d --image 8x8 --n 4", "--batch says how many images"},
  };
  for (const WrongCall& wrong : all) expect_usage(wrong);
}

TEST_F(WrongWordsTest, WeightsMayBeAWordByThemselves) {
  const VerbAnswer by_word = call_weft(words_of("run w.npy --n 8 --out word.npy"));
  EXPECT_EQ(by_word.code, 0) << by_word.errors;
  EXPECT_EQ(call_weft(words_of("run --weights w.npy --n 8 --out option.npy")).code, 0);
  EXPECT_EQ(read_array("word.npy").get(5), read_array("option.npy").get(5));
  const WrongCall all[] = {
      {"run w.npy --weights w.npy --n 8", "an option is given more than once"},
      {"tune --weights w.npy --n 8 --buget 5s", "did you mean --budget in place of --buget?"},
      {"check steps.json --target cpu --n 8", "weft run --schedule steps.json reads this one"},
  };
  for (const WrongCall& wrong : all) expect_usage(wrong);
}

TEST_F(WrongWordsTest, AFileThatIsReadIsNotOverwritten) {
  write_npy("b.npy", random_array(DType::f32, {48, 8}, 1));
  const WrongCall all[] = {
      {"run --weights w.npy --n 8 --out w.npy", "found:    --weights w.npy, the same file"},
      {"run --weights w.npy --n 8 --b b.npy --out ./b.npy",
       "accepted: another file, such as --out ./b_new.npy"},
      {"prune w.npy --format csr --sparsity 0.9 -o w.npy", "accepted: another file, such as --out w_new.npy"},
      {"db export trials.jsonl --to csv -o trials.jsonl", "a file that is read would be overwritten"},
      {"report --db trials.jsonl -o trials.jsonl", "where:    --out trials.jsonl"},
      {"train --db trials.jsonl -o trials.jsonl", "where:    --out trials.jsonl"},
      {"bench --suite suite.json --device cpu --json suite.json", "--json suite_new.json"},
      {"tune --weights w.npy --n 8 --measure model --db t.json -o t.json", "--out t_new.json"},
  };
  for (const WrongCall& wrong : all) expect_usage(wrong);
  EXPECT_EQ(call_weft(words_of("db stats trials.jsonl")).code, 0) << "it is still there";
  const std::filesystem::path link = "link.svg";
  std::filesystem::create_symlink("trials.jsonl", link);
  expect_usage({"plot trials.jsonl -o link.svg", "found:    databases trials.jsonl, the same file"});
}

TEST_F(WrongWordsTest, OtherFilesInPlaceOfWeightsAreNamed) {
  const WrongCall all[] = {
      {"run --weights steps.json --n 8", "found:    the steps of a schedule"},
      {"run --weights steps.json --schedule w.npy --n 8", "--weights w.npy --schedule steps.json, the two"},
      {"prune steps.json --format csr --sparsity 0.5", "weft run --schedule steps.json reads this one"},
      {"demo trials.jsonl", "weft db best trials.jsonl reads this one"},
      {"verify --weights suite.json --n 8", "weft bench --suite suite.json reads this one"},
      {"inspect made:M=8,K=8,sparsity=0.5",
       "weft run --weights made:M=8,K=8,sparsity=0.5 --n 256 takes made"},
      {"inspect made:M=8,K=8,density=0.5", "sparsity=0.5 in its place"},
      {"inspect .", "weft model inspect ."},
      {"predict --tree suite.json --weights w.npy --n 8", "a file that weft train wrote; weft bench --suite"},
      {"replay trials.jsonl:2 --weights w.npy", "a record that weft tune wrote"},
  };
  for (const WrongCall& wrong : all) expect_usage(wrong);
}

/// Zeros would be the same with beta and without it.
TEST_F(WrongWordsTest, AnOldOutputThatNobodyGivesIsDrawn) {
  const VerbAnswer with = call_weft(words_of("verify --weights w.npy --n 8 --beta 1 --out with.npy"));
  EXPECT_EQ(with.code, 0) << with.errors;
  EXPECT_THAT(with.errors, HasSubstr("note: the old output, which --beta reads, is --c random:3"));
  EXPECT_EQ(call_weft(words_of("verify --weights w.npy --n 8 --out without.npy")).code, 0);
  EXPECT_NE(read_array("with.npy").get(0), read_array("without.npy").get(0));
  const VerbAnswer zeros =
      call_weft(words_of("verify --weights w.npy --n 8 --beta 1 --c zeros --out zeros.npy"));
  EXPECT_THAT(zeros.errors, Not(HasSubstr("note")));
  EXPECT_EQ(read_array("zeros.npy").get(0), read_array("without.npy").get(0));
}

TEST_F(WrongWordsTest, WeightsThatAreTakenAsSomethingElseAreToldOf) {
  write_npy("whole.npy", Array::of(std::vector<std::int32_t>{1, 0, 2, 3}));
  const VerbAnswer whole = call_weft(words_of("verify --weights whole.npy --n 4"));
  EXPECT_EQ(whole.code, 0) << whole.errors;
  EXPECT_THAT(whole.errors, HasSubstr("note: weights of i32 are taken as f32"));
  const VerbAnswer filter = call_weft(words_of("verify --weights filter.npy --n 4"));
  EXPECT_EQ(filter.code, 0) << filter.errors;
  EXPECT_THAT(filter.errors, HasSubstr("note: weights of [4, 2, 3, 3] are taken as 4 x 18"));
  EXPECT_THAT(whole.errors, HasSubstr("note: weights of [4] are taken as 1 x 4"));
}

TEST_F(WrongWordsTest, OptionsWithoutAnEffectAreRefused) {
  const WrongCall all[] = {
      {"prune w.npy --format csr --sparsity 0.5 --seed 3", "--format shfl_bw:V=64, or no --seed"},
      {"tune --weights w.npy --n 8 --measure model --rounds 9", "--measure gpu or cpu, or no --rounds"},
      {"tune --weights w.npy --n 8 --measure cpu --copies 2", "--measure gpu, or no --copies"},
      {"report --db trials.jsonl -o page.txt", "a name that ends with .html or .htm"},
      {"export --weights w.npy --n 8 --archs sm_80 --measured steps.json -o ffn", "the steps of a schedule"},
      {"compile --weights w.npy --n 8 --target sm_130", "sm_90, whose PTX the drivers of newer GPUs compile"},
  };
  for (const WrongCall& wrong : all) expect_usage(wrong);
}

TEST_F(WrongWordsTest, OperandsThatAreRoundedAreToldOf) {
  write_npy("wide.npy", random_array(DType::f64, {48, 8}, 1));
  const VerbAnswer wide = call_weft(words_of("verify --weights w.npy --n 8 --b wide.npy"));
  EXPECT_EQ(wide.code, 0) << wide.errors;
  EXPECT_THAT(wide.errors, HasSubstr("note: --b wide.npy rounded from f64 to f32; largest change "));
  Array large(DType::f64, {48, 8});
  large.set(9, 1e300);
  write_npy("large.npy", large);
  expect_usage({"verify --weights w.npy --n 8 --b large.npy", "where:    --b large.npy, element 9"});
  const VerbAnswer nothing = call_weft(words_of("verify --weights w.npy --n 8 --alpha 0"));
  EXPECT_EQ(nothing.code, 0) << nothing.errors;
  EXPECT_THAT(nothing.errors, HasSubstr("note: with --alpha 0 nothing of the product is in the output"));
}

TEST_F(WrongWordsTest, ARefusedSearchLeavesNoDatabase) {
  expect_usage({"tune --weights w.npy --n 8 --measure model --db refused.jsonl --set nosuch=1", "nosuch"});
  EXPECT_FALSE(std::filesystem::exists("refused.jsonl"));
}

/// Legal, and hardly meant: told beside the answer.
TEST_F(WrongWordsTest, AScheduleThatLeavesAGpuIdleIsToldOf) {
  std::ofstream("empty.json") << "[]";
  for (const char* line : {"compile --weights w.npy --n 8 --target sm_80 --schedule empty.json -o idle",
                           "check --weights w.npy --n 8 --target sm_80 --schedule empty.json"}) {
    const VerbAnswer answer = call_weft(words_of(line));
    EXPECT_EQ(answer.code, 0) << line << "\n" << answer.errors;
    EXPECT_THAT(answer.errors,
                HasSubstr("warning: no loop is bound: one thread of sm_80 computes everything; "
                          ".bind(m, block_x) shares it out to blocks"));
  }
  const VerbAnswer cpu =
      call_weft(words_of("compile --weights w.npy --n 8 --target cpu --schedule empty.json -o idle"));
  EXPECT_THAT(cpu.errors, Not(HasSubstr("warning")));
}

TEST_F(WrongWordsTest, ANamedRecipeIsFollowedOrRefused) {
  const WrongCall all[] = {
      {"verify --weights w.npy --n 8 --device sim:sm_80 --recipe shfl_bw", "--format shfl_bw:V=64"},
      {"verify --weights w.npy --n 8 --device sim:sm_80 --recipe shfl_bw:V=64",
       "V is of the format: --format shfl_bw:V=64"},
      {"run --weights w.npy --n 8 --device sim:sm_80 --recipe v_n_m", "--format column_quads"},
      {"compile --weights w.npy --n 8 --recipe hb_ell -o out", "--format hb_ell"},
      {"verify --weights w.npy --n 8 --device sim:sm_80 --recipe sparsert --format ell", "--format csr"},
      {"verify --weights w.npy --n 8 --device sim:sm_80 --recipe shfl_bw --format shfl_bw:V=16",
       "--dtype f16 or --dtype bf16"},
      {"verify --weights w.npy --n 8 --recipe sparsert", "a GPU: --device sim:sm_90a"},
      {"compile --weights w.npy --n 8 --target cpu --recipe sparsert -o out", "a GPU: --device sim:sm_90a"},
      {"verify --weights w.npy --n 8 --recipe ''", "there is no such recipe"},
      {"verify --weights w.npy --n 8 --recipe sparsert:rows=-1", "a whole number from 1"},
      {"verify --weights w.npy --n 8 --recipe sparsert:rows=1e9", "a whole number from 1"},
  };
  for (const WrongCall& wrong : all) expect_usage(wrong);
}

TEST_F(WrongWordsTest, TheFormatThatARefusalNamesFits) {
  const std::string made = " --weights made:M=64,K=64,sparsity=0.75,V=16 --n 16 --device sim:sm_80";
  for (const char* fitting :
       {" --recipe sparsert --format csr", " --recipe shfl_bw --dtype f16 --format shfl_bw:V=16",
        " --recipe hb_ell --dtype f16 --format hb_ell",
        " --recipe v_n_m --dtype f16 --format column_quads"}) {
    const VerbAnswer answer = call_weft(words_of("verify" + made + fitting));
    EXPECT_EQ(answer.code, 0) << fitting << "\n" << answer.errors;
  }
}

TEST_F(WrongWordsTest, AFileThatCannotBeOpenedIsOneKindOfError) {
  const WrongCall all[] = {
      {"verify --weights nosuch.npy --n 8", "cannot read nosuch.npy"},
      {"verify --weights w.npy --n 8 --schedule nosuch.json", "cannot read nosuch.json"},
      {"verify --weights w.npy --n 8 --schedule .", "a folder"},
      {"verify --weights w.npy --n 8 --b nosuch.npy", "cannot read nosuch.npy"},
      {"verify --weights . --n 8", "a folder"},
      {"inspect nosuch.npy", "cannot read nosuch.npy"},
      {"prune nosuch.npy --format csr --sparsity 0.5", "cannot read nosuch.npy"},
      {"bench --suite nosuch.json --device cpu", R"({"suite": "mine", "problems": [{"id": 1,)"},
      {"prune w.npy --format csr --sparsity 0.5 --scores nosuch.npy", "cannot read nosuch.npy"},
      {"demo nosuch.npy", "cannot read nosuch.npy"},
      {"check --weights nosuch.npy --n 8 --target sm_80", "cannot read nosuch.npy"},
  };
  for (const WrongCall& wrong : all) expect_usage(wrong);
  EXPECT_THAT(call_weft({"--help"}).out, HasSubstr("a file that cannot be opened"));
}

TEST_F(WrongWordsTest, AFullDiskAndAFolderThatCannotBeMadeSayWhy) {
  std::ofstream("in_the_way") << "a file";
  const VerbAnswer no_folder =
      call_weft(words_of("compile --weights w.npy --n 8 --target cpu -o in_the_way/out"));
  EXPECT_EQ(no_folder.code, 2);
  EXPECT_THAT(no_folder.errors, AllOf(HasSubstr("in_the_way"), HasSubstr("Not a directory")));
  std::filesystem::create_directories("full/cpu");
  std::filesystem::create_symlink("/dev/full", "full/cpu/program.txt");
  const VerbAnswer full = call_weft(words_of("compile --weights w.npy --n 8 --target cpu -o full"));
  EXPECT_EQ(full.code, 1);
  EXPECT_THAT(full.errors, AllOf(HasSubstr("full/cpu/program.txt"), HasSubstr("No space left on device")));
  const VerbAnswer output = call_weft(words_of("run --weights w.npy --n 8 --out /dev/full"));
  EXPECT_EQ(output.code, 1);
  EXPECT_THAT(output.errors, HasSubstr("No space left on device"));
}

TEST(WrongWords, BesideJsonAreJson) {
  for (const auto& [words, code] : std::vector<std::pair<std::vector<std::string>, int>>{
           {{"inspect", "nosuch.npy", "--json"}, 2}, {{"targets", "--jsno", "--json"}, 2}}) {
    const VerbAnswer answer = call_weft(words);
    EXPECT_EQ(answer.code, code);
    const auto error = nlohmann::json::parse(answer.errors).at("error");
    EXPECT_FALSE(error.at("what").get<std::string>().empty());
    EXPECT_FALSE(error.at("accepted").get<std::string>().empty());
    EXPECT_EQ(error.at("exit_code"), code);
  }
  EXPECT_THAT(call_weft({"bench", "--suite", "nosuch.json", "--json", "times.jsonl"}).errors,
              HasSubstr("weft: "));
}

}  // namespace
}  // namespace weft
