// Boosted trees, and what the ones that ship say of kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/formats/random.h>
#include <weft/search/model/bound.h>
#include <weft/search/model/known_error.h>
#include <weft/search/model/learnt_times.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace weft {
namespace {

using testing::HasSubstr;

/// Two numbers that matter, together, and one that does not.
RegressionSet drawn_set(std::uint64_t seed) {
  Random random(seed);
  RegressionSet set{.width = 3};
  constexpr int samples = 2000;
  for (int i = 0; i < samples; ++i) {
    const double x = static_cast<double>(random.below(1000)) / 1000, y = static_cast<double>(random.below(8));
    set.numbers.insert(set.numbers.end(), {x, static_cast<double>(random.below(5)), y});
    set.targets.push_back(std::sin(3 * x) + (y > 3 ? x : 0));
    set.weights.push_back(i % 2 == 0 ? 1 : 0.5);
  }
  return set;
}

double mean_error(const BoostedTrees& trees, const RegressionSet& set) {
  double sum = 0;
  for (std::size_t i = 0; i < set.size(); ++i)
    sum += std::abs(trees.value(std::span(set.numbers).subspan(i * set.width, set.width)) - set.targets[i]);
  return sum / static_cast<double>(set.size());
}

TEST(BoostedTrees, LearnWhatNumbersSayTogether) {
  const BoostedTrees trees = fit_boosted_trees(drawn_set(1), {});
  EXPECT_LT(mean_error(trees, drawn_set(2)), 0.03) << "of samples that were not learnt from";
  EXPECT_GT(mean_error(fit_boosted_trees(drawn_set(1), {.trees = 1}), drawn_set(2)), 0.2);
}

TEST(BoostedTrees, SameSamplesGiveTheSameTrees) {
  const RegressionSet set = drawn_set(3);
  const BoostedTrees one = fit_boosted_trees(set, {.trees = 20}),
                     other = fit_boosted_trees(set, {.trees = 20});
  EXPECT_EQ(mean_error(one, set), mean_error(other, set));
}

TEST(BoostedTrees, LeavesHaveTheirWeightAndTreesTheirHeight) {
  const BoostedTrees trees = fit_boosted_trees(drawn_set(1), {.trees = 3, .height = 2});
  for (const BoostedTrees::Tree& tree : trees.trees()) EXPECT_EQ(tree.size(), 7U);
  const BoostedTrees few = fit_boosted_trees(drawn_set(1), {.trees = 3, .height = 8, .leaves = 5});
  for (const BoostedTrees::Tree& tree : few.trees()) EXPECT_EQ(tree.size(), 9U) << "five leaves";
  const BoostedTrees whole = fit_boosted_trees(drawn_set(1), {.trees = 1, .least_weight = 1e6});
  EXPECT_EQ(whole.trees().front().size(), 1U) << "nothing to split";
  EXPECT_EQ(BoostedTrees().value({}), 0);
}

/// Targets of the lower half are alike.
TEST(BoostedTrees, LeafThatGainsMostIsDivided) {
  RegressionSet set{.width = 1};
  constexpr int samples = 1024;
  for (int i = 0; i < samples; ++i) {
    set.numbers.push_back(i);
    set.targets.push_back(i < samples / 2 ? 0 : i);
    set.weights.push_back(1);
  }
  const BoostedTrees trees =
      fit_boosted_trees(set, {.trees = 1, .height = 6, .leaves = 4, .rate = 1, .least_weight = 1});
  const BoostedTrees::Tree& tree = trees.trees().front();
  ASSERT_EQ(tree.size(), 7U);
  EXPECT_EQ(tree[1].feature, -1) << "of the lower half nothing is left to be learnt";
}

struct Example {
  ProblemSummary problem{.m = 1024,
                         .k = 2048,
                         .n = 512,
                         .dtype = DType::f16,
                         .stored = 209715,
                         .dense_elements = 2048L * 512,
                         .group_rows = 64};
  Format format = parse_format("shfl_bw:V=64");
  KnobValues point{{"tile_m", 64}, {"groups", 1}};
  Bound bound = bound_of(problem, "shfl_bw", point, target_named("sm_90a"));

  KernelOutline outline() const {
    return {problem, format, "shfl_bw", point, bound, 8, target_named("sm_90a")};
  }
};

TEST(KernelNumbers, AreAskedForByName) {
  const Example example;
  const KernelNumbers numbers({"m", "n_divisor", "recipe:shfl_bw", "recipe:v_n_m", "format:shfl_bw",
                               "knob:groups", "knob:stages", "modelled", "part:tensor cores"});
  const std::vector<double> found = numbers(example.outline());
  EXPECT_EQ(found[0], std::log2(1025));
  EXPECT_EQ(std::vector(found.begin() + 1, found.begin() + 8), (std::vector<double>{8, 1, 0, 1, 1, -1, 3}));
  EXPECT_EQ(found[8], example.bound.part(Resource::tensor) / example.bound.microseconds);
  EXPECT_FALSE(KernelNumbers::is_known("weather"));
  EXPECT_FALSE(KernelNumbers::is_known("part:weather"));
}

TEST(LearntTimes, AreStoredAsTheyWere) {
  LearntTimes times{"sm_90a", {"shfl_bw"}, KernelNumbers({"m", "knob:tile_m"}), {}};
  times.trees =
      BoostedTrees({{{.feature = 1, .threshold = 6.5, .right = 2}, {.value = 0.25}, {.value = -0.5}}});
  const LearntTimes again = learnt_times_of(json_of(times), "here");
  EXPECT_EQ(json_of(again), json_of(times));
  const Example example;
  EXPECT_EQ(again.correction(example.outline()), std::exp(0.25));
  EXPECT_TRUE(again.is_of("shfl_bw", target_named("sm_90a")));
  EXPECT_FALSE(again.is_of("shfl_bw", target_named("sm_80")));
  EXPECT_FALSE(again.is_of("v_n_m", target_named("sm_90a")));
}

TEST(LearntTimes, SayWhatIsWrongWithAFile) {
  const auto refusal = [](const std::string& numbers, const std::string& trees) -> std::string {
    try {
      learnt_times_of(R"({"weft_times":1,"target":"sm_90a","recipes":[],"numbers":)" + numbers +
                          R"(,"trees":)" + trees + "}",
                      "times.json");
    } catch (const UserError& error) {
      return error.what();
    }
    return "nothing is refused";
  };
  EXPECT_THAT(refusal(R"(["weather"])", "[]"), HasSubstr("weather"));
  EXPECT_THAT(refusal(R"(["m"])", "[[]]"), HasSubstr("trees"));
  EXPECT_THAT(refusal(R"(["m"])", "[[[0,1,1],[2]]]"), HasSubstr("[0,1,1]")) << "a child of its own";
  EXPECT_THAT(refusal(R"(["m"])", "[[[1,1,2],[2],[3]]]"), HasSubstr("[1,1,2]")) << "there is no number 1";
  EXPECT_THAT(refusal(R"(["m"])", R"([[["a"]]])"), HasSubstr("times.json"));
}

TEST(LearntTimes, ThoseThatShipAreOfWhatWasMeasured) {
  const Target& measured = target_named("sm_90a");
  for (const char* recipe : {"shfl_bw", "v_n_m", "sparsert", "default"})
    EXPECT_TRUE(has_learnt_times(recipe, measured)) << recipe;
  EXPECT_FALSE(has_learnt_times("cpu_rows", measured));
  EXPECT_FALSE(has_learnt_times("shfl_bw", target_named("sm_80")));
  for (const char* recipe : {"cpu_rows", "cpu_code", "cpu_groups", "cpu_blocks"}) {
    EXPECT_TRUE(has_learnt_times(recipe, target_named("x86-64-v4"))) << recipe;
    EXPECT_FALSE(has_learnt_times(recipe, target_named("x86-64-v3"))) << recipe;
  }
  EXPECT_GE(shipped_times().trees.trees().size(), 50U);
  // What is modelled is not far from what is expected.
  const Example example;
  const double correction = shipped_times().correction(example.outline());
  EXPECT_GT(correction, 0.3);
  EXPECT_LT(correction, 3);
}

}  // namespace
}  // namespace weft
