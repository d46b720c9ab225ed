// Verbs that are told no format and no recipe.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "call_weft.h"

namespace weft {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

VerbAnswer verified(std::vector<std::string> more) {
  std::vector<std::string> words{"verify",  "--weights", "made:M=256,K=512,sparsity=0.75,V=64", "--n", "128",
                                 "--dtype", "f16"};
  words.insert(words.end(), more.begin(), more.end());
  return call_weft(words);
}

/// A format without its parameters is the one with the usual ones.
TEST(Choosing, RecipesOfFormatsWithoutParameters) {
  for (const std::string format : {"shfl_bw", "vector_wise", "v_n_m"}) {
    const std::string recipe = format == "v_n_m" ? "v_n_m:tile_n=64" : "shfl_bw:tile_n=64";
    const VerbAnswer answer = call_weft(
        {"compile", "--weights", "made:M=128,K=256,V=64,of=8", "--n", "64", "--dtype", "f16", "--target",
         "sm_90a", "--format", format, "--recipe", recipe, "-o", testing::TempDir() + "without_parameters"});
    EXPECT_EQ(answer.code, 0) << answer.errors;
  }
}

TEST(Choosing, SaysWhatItTookOnAGpu) {
  const VerbAnswer answer = verified({"--device", "sim:sm_90a"});
  EXPECT_EQ(answer.code, 0) << answer.errors;
  EXPECT_THAT(answer.errors, HasSubstr("chosen for sm_90a: shfl_bw"));
  EXPECT_THAT(answer.errors, HasSubstr("; second "));
  EXPECT_THAT(answer.out, HasSubstr("shfl_bw:V=64"));
}

TEST(Choosing, HasNothingToSayOfACpu) {
  const VerbAnswer answer = verified({});
  EXPECT_EQ(answer.code, 0) << answer.errors;
  EXPECT_EQ(answer.errors, "");
  EXPECT_THAT(answer.out, HasSubstr("f16 on cpu"));
}

TEST(Choosing, TakesOperandsAsFrameworksHaveThem) {
  const VerbAnswer answer = verified({"--device", "sim:sm_90a", "--layout", "nk"});
  EXPECT_EQ(answer.code, 0) << answer.errors;
  EXPECT_THAT(answer.errors, HasSubstr("chosen for sm_90a: shfl_bw"));
  EXPECT_EQ(verified({"--layout", "nk"}).code, 0);
  const VerbAnswer images = verified({"--layout", "nhwc"});
  EXPECT_EQ(images.code, 2);
  EXPECT_THAT(images.errors, HasSubstr("kn, nk, nk_mn or kn_nm"));
  const VerbAnswer column =
      call_weft(words_of("verify --weights made:M=8,K=8,sparsity=0.5 --op spmv --layout nk"));
  EXPECT_EQ(column.code, 2);
  EXPECT_THAT(column.errors, HasSubstr("one column lies the same way in all"));
}

TEST(Choosing, NamesNarrowIt) {
  const VerbAnswer of_format = verified({"--device", "sim:sm_80", "--format", "column_quads"});
  EXPECT_EQ(of_format.code, 0) << of_format.errors;
  EXPECT_THAT(of_format.out, HasSubstr("column_quads"));
  EXPECT_THAT(of_format.errors, HasSubstr("chosen for sm_80: v_n_m"));
  const VerbAnswer of_recipe = verified({"--device", "sim:sm_80", "--recipe", "shfl_bw:tile_n=64"});
  EXPECT_EQ(of_recipe.code, 0) << of_recipe.errors;
  EXPECT_THAT(of_recipe.out, HasSubstr("shfl_bw:V=64"));
  EXPECT_THAT(of_recipe.errors, Not(HasSubstr("chosen")));
}

TEST(Choosing, TriesSeveralWaysAndTakesTheFastest) {
  const std::vector<std::string> words{"run",   "--weights", "made:M=64,K=128,sparsity=0.9", "--n", "16",
                                       "--try", "3"};
  const VerbAnswer tried = call_weft(words);
  EXPECT_EQ(tried.code, 0) << tried.errors;
  // Which they are depends on what is known of the processor.
  EXPECT_THAT(tried.errors, ContainsRegex("(tried: .* in csr: .* us\n){3}"));
  EXPECT_THAT(tried.errors, Not(HasSubstr("WRONG")));
  std::vector<std::string> named = words;
  named.insert(named.end(), {"--recipe", "cpu_rows:panel=16"});
  const VerbAnswer refused = call_weft(named);
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("there is nothing to try"));
}

}  // namespace
}  // namespace weft
