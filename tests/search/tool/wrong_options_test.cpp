// Words of one verb given to another, words of other tools, and files that are not what they are called: what
// is said ends in the word that works.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <weft/formats/io/npy.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/search/tool/command_words.h>

#include <filesystem>
#include <fstream>

#include "wrong_call.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class WrongOptionsTest : public WrongCallTest {
 protected:
  static void SetUpTestSuite() {
    WrongCallTest::SetUpTestSuite();
    write_npy("bias.npy", random_array(DType::f32, {10}, 1));
    write_npy("b.npy", random_array(DType::f32, {8, 48}, 1));
    write_npy("row.npy", random_array(DType::f32, {1, 48}, 1));
    std::ofstream("text.npy") << "1 2 3\n";
    std::ofstream("zero.mtx") << "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n0 1\n";
    std::ofstream("trials.jsonl") << "{\"weftdb\":1}\n";
    std::ofstream("tree.json") << R"({"weft_tree": 2})";
    std::filesystem::create_directory("folder");
  }
};

TEST_F(WrongOptionsTest, AnOptionOfAnotherVerbEndsInThisVerbsOwn) {
  const WrongCall all[] = {
      {"run w.npy --n 8 --measure cpu", "in place of --measure weft run has --device cpu"},
      {"run w.npy --n 8 --recipes csr", "in place of --recipes weft run has --recipe NAME"},
      {"check w.npy --n 8 --device cpu", "in place of --device weft check has --target cpu"},
      {"export w.npy --n 8 --target sm_80", "in place of --target weft export has --archs x86-64-v4"},
      {"model tune w.npy --device cpu", "in place of --device weft model tune has --measure cpu"},
      {"model export w.npy --target cpu", "in place of --target weft model export has --archs"},
      {"demo --weights w.npy", "in place of --weights weft demo has the file by itself"},
      {"formats --format csr", "in place of --format weft formats has the name by itself"},
      {"tune w.npy --n 8 --device cpu", "the CPU is --measure cpu"},
      {"tune w.npy --n 8 --recipes sparsert:rows=8 --measure model --target sm_80",
       "accepted: --recipes sparsert --set rows=8"},
      {"demo --device h100", "--device is an option of weft run, weft verify"},
      {"demo --sparsity 0.9", "--sparsity is an option of weft prune, weft bench"},
      {"model tune w.npy --dtype f16", "--dtype is an option of weft check"},
  };
  for (const WrongCall& wrong : all) expect_usage(wrong);
}

TEST_F(WrongOptionsTest, DashesVerbsAndValuesThatSlippedAreToldOf) {
  const WrongCall all[] = {
      {"run w.npy -n4", "did you mean --n in place of -n4?"},
      {"run w.npy -dtype f16 --n 8", "did you mean --dtype in place of -dtype?"},
      {"run --wieghts=w.npy --n 8", "did you mean --weights in place of --wieghts=w.npy?"},
      {"--run w.npy", "did you mean weft run in place of --run?"},
      {"modle tune", "did you mean weft model tune?"},
      {"run check w.npy --n 8", "one verb a call: weft run, or weft check"},
      {"run w.npy --n 1e3", "did you mean 1000 in place of \"1e3\"?"},
      {"run w.npy --n 1,8", "one whole number from 1 on, such as 256"},
      {"run w.npy --n 0", "found:    0 columns"},
      {"run w.npy", "found:    none, as --n is left out"},
      {"run w.npy --n 8 -o ''", "found:    an empty text\n  accepted: a path"},
      {"prune w.npy --format csr --sparsity 90%", "did you mean 0.9 in place of \"90%\"?"},
  };
  for (const WrongCall& wrong : all) expect_usage(wrong);
  const VerbAnswer blank = call_weft({"run", "w.npy", "--n= 4"});
  EXPECT_EQ(blank.code, 2);
  EXPECT_THAT(blank.errors, HasSubstr("did you mean 4 in place of \" 4\"?"));
}

TEST_F(WrongOptionsTest, WhatOthersCallAThingNamesItHere) {
  const WrongCall all[] = {
      {"run w.npy --n 8 --dtype fp16", "did you mean f16?"},
      {"run w.npy --n 8 --dtype half", "did you mean f16?"},
      {"run w.npy --n 8 --dtype Float32", "did you mean f32?"},
      {"run w.npy --n 8 --dtype bfloat16", "did you mean bf16?"},
      {"run w.npy --n 8 --op matmul", "did you mean spmm?"},
      {"run w.npy --n 8 --op conv", "did you mean conv2d?"},
      {"run w.npy --n 8 --activation ReLU", "did you mean relu?"},
      {"run w.npy --n 8 --activation swish", "did you mean silu?"},
      {"run w.npy --op conv2d --filter 1x1 --image 4x4 --layout NHWC", "did you mean nhwc?"},
      {"run w.npy --n 8 --format 128:2:16", "128:2:16 is v_n_m:V=128,M=16"},
      {"run w.npy --n 8 --device h100", "or sim:sm_90a, which needs none?"},
      {"check w.npy --n 8 --target a100", "did you mean sm_80?"},
      {"export w.npy --n 8 --archs t4 -o out --name ffn", "did you mean sm_75?"},
      {"export w.npy --n 8 --archs cpu -o out --name ffn", "for cpu x86-64-v4"},
      {"tune w.npy --n 8 --measure h100", "elsewhere sim or model with --target sm_90a"},
      {"tune w.npy --n 8 --measure cuda", "did you mean gpu?"},
      {"run w.npy --n 8 --c-type u8", "f32, f16, bf16, f64, e4m3, e5m2 or i8"},
      {"run w.npy --n 8 --c-type f16", "f32, e4m3, e5m2 or i8"},
      {"run w.npy --n 8 --c-type i8 --c-scale 0", "a finite number above 0"},
      {"run made:N=8,M=32,K=48,sparsity=0.5 --n 8", "no N: --n says how many"},
  };
  for (const WrongCall& wrong : all) expect_usage(wrong);
  const VerbAnswer blank = call_weft({"run", "made:M=32, K=48,sparsity=0.5", "--n", "8"});
  EXPECT_THAT(blank.errors, HasSubstr("a blank in \" K=48\""));
}

TEST_F(WrongOptionsTest, FilesOfAnotherKindAreToldWithWhatTheyAre) {
  const WrongCall all[] = {
      {"run text.npy --n 8", "a text that begins with \"1 2 3\""},
      {"inspect zero.mtx", "as .mtx counts rows and columns from 1"},
      {"run w.npy --n 8 --bias bias.npy", "[32], one number for each row of the weights"},
      {"run w.npy --n 8 --scale b.npy", "[1], one for all, or [32] or [32, 1]"},
      {"run w.npy --n 8 --token-scale bias.npy", "[1], one for all, or [8] or [8, 1]"},
      {"run w.npy --n 8 --b b.npy",
       "with its two dimensions exchanged it would be that, and --layout nk takes it as it is"},
      {"run w.npy --op spmv --b row.npy", "with its two dimensions exchanged it would be that\n"},
      {"run w.npy --n 8 --schedule tree.json", "weft predict --tree tree.json reads this one"},
      {"run w.npy --n 8 --db folder", "found:    a folder\n  accepted: a file that weft tune --db wrote"},
      {"tune w.npy --n 8 --measure model --trials 1 --db folder", "where:    --db\n"},
      {"report --db trails.jsonl -o page.html",
       "where:    --db\n  found:    no such file; did you mean trials.jsonl?"},
      {"train --db trails.jsonl -o tree_new.json", "where:    --db\n  found:    no such file; did you mean"},
      {"plot trails.jsonl -o picture.svg", "no such file; did you mean trials.jsonl?"},
      {"run w.npy --n 8 --db trails.jsonl", "did you mean trials.jsonl?"},
      {"model tune w.npy --absorb w.npy", "found:    a file\n"},
      {"model tune w.npy --absorb nosuch", "found:    no such folder\n"},
      {"model tune w.npy --absorb folder", "a folder without shards.txt"},
      {"model tune folder --n 8 --measure cpu", "found:    0 tensors, none with the shape of a weight"},
      {"measure w.npy", "a plan is a folder"},
      {"run w.npy --n 8 --format v_n_m", "weft prune FILE --format NAME has pruned so"},
      {"tune w.npy --n 8 --target sm_80 --measure model --trials 1 --set nosuch=1", "where:    --set\n"},
  };
  for (const WrongCall& wrong : all) expect_usage(wrong);
}

TEST(CommandWords, OptionsStandWhereMembersWere) {
  const auto told = [](const std::string& text) {
    return tool::in_words_of_command({"what", text, "found", text}).accepted;
  };
  EXPECT_EQ(told("TuneOptions::limits (--set)"), "--set");
  EXPECT_EQ(told("--set stages (TuneOptions::limits)"), "--set stages");
  EXPECT_EQ(told("layers, or NetworkExportOptions::all, --all, for those"), "layers, or --all, for those");
  EXPECT_EQ(told("another file, or Tune::any (--allow-arch) to have both"),
            "another file, or --allow-arch to have both");
  EXPECT_EQ(told("std::vector, a::b and Kept::here"), "std::vector, a::b and Kept::here");
  EXPECT_EQ(told("::"), "::");
}

}  // namespace
}  // namespace weft
