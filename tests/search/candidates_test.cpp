// Which point is tried next.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/search/trials/candidates.h>

#include <cmath>
#include <functional>
#include <map>
#include <set>

namespace weft {
namespace {

using ::testing::HasSubstr;

/// Knobs a and b; points with a = 8 and b = 3 cannot run.
Space small_space(const Format& format = {}, std::function<std::optional<KnobValues>()> usual = {}) {
  const ir::Expr product = ir::variable("a") * ir::variable("b");
  return Space({.recipe = "small",
                .target = "sm_90",
                .format = format,
                .knobs = {{"a", {1, 2, 4, 8}}, {"b", {1, 2, 3}}},
                .constraints = {{"product", "a b", "", product, ir::integer(16), {}}},
                .preferences = {},
                .schedule = {},
                .usual = std::move(usual)});
}

double predicted(const TrialPoint& point) {
  return static_cast<double>(10 * point.config.at("a") + point.config.at("b"));
}

Candidates candidates(Strategy strategy, std::uint64_t seed = 1) {
  static const std::vector<Space> spaces{small_space()};
  return {candidates_of(spaces, strategy, predicted), strategy, seed};
}

std::vector<std::string> all_of(Candidates& from) {
  std::vector<std::string> names;
  while (const auto choice = from.next()) names.push_back(text_of(*choice->candidate));
  return names;
}

TEST(Candidates, ExhaustiveGoesByTheBound) {
  Candidates from = candidates(Strategy::exhaustive);
  EXPECT_EQ(from.size(), 11U) << "8 x 3 is more than 16";
  const std::vector<std::string> names = all_of(from);
  ASSERT_EQ(names.size(), 11U);
  EXPECT_EQ(names[0], "small a=1 b=1");
  EXPECT_EQ(names[1], "small a=1 b=2");
  EXPECT_EQ(names[10], "small a=8 b=2");
}

TEST(Candidates, EveryPointIsTriedOnceByEveryStrategy) {
  for (const Strategy strategy :
       {Strategy::ranked, Strategy::random, Strategy::exhaustive, Strategy::feasible}) {
    Candidates from = candidates(strategy);
    const std::vector<std::string> names = all_of(from);
    EXPECT_EQ(std::set(names.begin(), names.end()).size(), 11U);
    EXPECT_EQ(names.size(), 11U);
  }
}

TEST(Candidates, ChanceIsTheSameForTheSameSeed) {
  const auto names = [](std::uint64_t seed) {
    Candidates from = candidates(Strategy::random, seed);
    return all_of(from);
  };
  EXPECT_EQ(names(5), names(5));
  EXPECT_NE(names(5), names(6));
}

TEST(Candidates, EachFourthIsByChance) {
  Candidates from = candidates(Strategy::ranked);
  std::vector<std::string> why;
  for (int i = 0; i < 8; ++i) why.push_back(from.next()->why);
  EXPECT_THAT(why, ::testing::ElementsAre("ranked", "ranked", "ranked", "random", "ranked", "ranked",
                                          "ranked", "random"));
}

TEST(Candidates, TheFirstAreFirstAndTakenOnesAreNotTried) {
  Candidates from = candidates(Strategy::ranked);
  EXPECT_EQ(from.find({0, {{"a", 8}, {"b", 3}}}), nullptr);
  EXPECT_EQ(from.find({1, {{"a", 8}, {"b", 1}}}), nullptr);
  from.put_first(from.find({0, {{"a", 4}, {"b", 2}}}), "incumbent");
  from.put_first(from.find({0, {{"a", 8}, {"b", 1}}}), "predicted");
  from.put_first(nullptr, "predicted");
  from.take(*from.find({0, {{"a", 8}, {"b", 1}}}));
  const auto first = from.next();
  EXPECT_EQ(text_of(*first->candidate), "small a=4 b=2");
  EXPECT_EQ(first->why, "incumbent");
  const std::vector<std::string> rest = all_of(from);
  EXPECT_EQ(rest.size(), 9U);
  EXPECT_THAT(rest, ::testing::Not(::testing::Contains("small a=8 b=1")));
}

TEST(Candidates, MeasuredPointsCorrectTheRank) {
  // The bound believes that a small a is good; the device says the reverse.
  const auto measured = [](const KnobValues& config) {
    return 100.0 / static_cast<double>(config.at("a")) * static_cast<double>(config.at("b"));
  };
  Candidates from = candidates(Strategy::ranked, 3);
  std::vector<std::string> why;
  int tried_until_best = 0;
  for (int i = 1; i <= 11 && tried_until_best == 0; ++i) {
    const auto choice = from.next();
    ASSERT_TRUE(choice);
    why.push_back(choice->why);
    from.learn(*choice->candidate, measured(choice->candidate->point.config));
    if (text_of(*choice->candidate) == "small a=8 b=1") tried_until_best = i;
  }
  EXPECT_LE(tried_until_best, 7) << "by the bound alone it is the tenth";
  EXPECT_THAT(why, ::testing::Contains("learned"));
}

TEST(Candidates, FailuresPushTheirKnobsBack) {
  Candidates from = candidates(Strategy::ranked, 2);
  // Everything with a = 1 fails; elsewhere the bound is right.
  std::vector<std::string> late;
  for (int i = 0; i < 10; ++i) {
    const auto choice = from.next();
    const bool fails = choice->candidate->point.config.at("a") == 1;
    from.learn(*choice->candidate, fails ? std::nullopt : std::optional(choice->candidate->predicted));
    if (choice->why == "learned" && late.empty()) late.push_back(text_of(*choice->candidate));
  }
  ASSERT_EQ(late.size(), 1U);
  EXPECT_THAT(late[0], ::testing::Not(HasSubstr("a=1 ")));
}

TEST(Candidates, KnobsCanBeHeldToValues) {
  const std::vector<Space> spaces{small_space()};
  const auto found = candidates_of(spaces, Strategy::feasible, predicted, {{"a", {"4", "8"}}, {"b", {"2"}}});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(text_of(found[0]), "small a=4 b=2");
  EXPECT_THROW(candidates_of(spaces, Strategy::feasible, predicted, {{"c", {"4"}}}), UserError);
  EXPECT_THROW(candidates_of(spaces, Strategy::feasible, predicted, {{"a", {"5"}}}), UserError);
}

/// Spaces in three formats: of the second points take three times as long, of the third a hundred times.
std::vector<Space> spaces_of_formats(std::vector<std::string>& asked) {
  std::vector<Space> spaces;
  for (const char* name : {"csr", "ell", "coo"}) {
    const auto usual = [&asked, name]() -> std::optional<KnobValues> {
      asked.emplace_back(name);
      return KnobValues{{"a", 4}, {"b", 3}};
    };
    spaces.push_back(small_space(Format{name, {}}, usual));
  }
  return spaces;
}
double predicted_of_formats(const TrialPoint& point) {
  return predicted(point) * (point.space == 0 ? 1 : point.space == 1 ? 3 : 100);
}

TEST(Candidates, OnlyFormatsWithinReachAreAskedForTheirUsualPoint) {
  std::vector<std::string> asked;
  const std::vector<Space> spaces = spaces_of_formats(asked);
  const std::vector<Candidate> all = candidates_of(spaces, Strategy::ranked, predicted_of_formats);
  EXPECT_EQ(all.size(), 33U);
  EXPECT_THAT(asked, ::testing::ElementsAre("csr", "ell")) << "weights would be packed for it";
  for (const Candidate& one : all) {
    EXPECT_EQ(one.within_reach, one.format != "coo");
    EXPECT_EQ(one.is_of_recipe,
              one.within_reach && one.point.config.at("a") == 4 && one.point.config.at("b") == 3);
  }
}

TEST(Candidates, ChanceDrawsFromFormatsWithinReach) {
  std::vector<std::string> asked;
  const std::vector<Space> spaces = spaces_of_formats(asked);
  Candidates from(candidates_of(spaces, Strategy::random, predicted_of_formats), Strategy::random, 1);
  const std::vector<const Candidate*> likeliest = from.likeliest_of_formats();
  ASSERT_EQ(likeliest.size(), 2U);
  EXPECT_EQ(likeliest[0]->format + " " + text_of(*likeliest[0]), "csr small a=1 b=1");
  EXPECT_EQ(likeliest[1]->format + " " + text_of(*likeliest[1]), "ell small a=1 b=1");
  std::set<std::string> first;
  for (int i = 0; i < 22; ++i) first.insert(from.next()->candidate->format);
  EXPECT_THAT(first, ::testing::ElementsAre("csr", "ell"));
  EXPECT_EQ(all_of(from).size(), 11U) << "the others come at last";
}

TEST(Candidates, MeasuredPointsCorrectTheRankOfTheirFormat) {
  std::vector<std::string> asked;
  const std::vector<Space> spaces = spaces_of_formats(asked);
  Candidates from(candidates_of(spaces, Strategy::ranked, predicted_of_formats), Strategy::ranked, 1);
  // Kernels of ell are four times as fast as the model says, those of csr as it says.
  std::map<std::string, int> tried;
  for (int i = 0; i < 12; ++i) {
    const Candidate& one = *from.next()->candidate;
    from.learn(one, one.predicted / (one.format == "ell" ? 4 : 1));
    ++tried[one.format];
  }
  EXPECT_GE(tried["ell"], 3);
}

TEST(Candidates, StrategiesHaveNames) {
  EXPECT_EQ(strategy_named("feasible"), Strategy::feasible);
  try {
    strategy_named("rankd");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("ranked"));
  }
}

}  // namespace
}  // namespace weft
