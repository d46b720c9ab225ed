#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/target.h>
#include <weft/search/measure/report.h>

#include <algorithm>

#include "definition_contestant.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

const char* const products = R"({"suite": "s", "dtype": "f32", "sparsity": [0.9], "problems": [
  {"M": 30, "K": 50, "N": 17}]})";
const char* const convolutions =
    R"({"suite": "c", "dtype": "f32", "sparsity": [0.8], "batch": [2], "problems": [
  {"C": 4, "F": 6, "H": 9, "W": 7, "R": 3, "S": 3, "stride": 2}]})";

CaseResult measured(const char* text, const std::vector<Contestant>& contestants,
                    const BenchOptions& options) {
  const Suite suite = parse_suite(text, "s.json");
  return measure(suite, cases_of(suite).front(), {}, Device::cpu(), contestants, options);
}

BenchOptions quick(int copies = 1) {
  return {3, copies};
}

/// A contestant that writes the right result, changed by `change`.
Contestant forger(const std::string& name, std::function<void(Array&)> change) {
  Contestant contestant{name, ContestantKind::dense};
  contestant.variants.push_back(by_definition(std::move(change)));
  return contestant;
}

TEST(Bench, WeftOnTheProcessor) {
  for (const char* text : {products, convolutions}) {
    const Suite suite = parse_suite(text, "s.json");
    const Libraries libraries(Device::cpu());
    EXPECT_FALSE(libraries.cublas || libraries.cusparse || libraries.cudnn);
    EXPECT_THAT(libraries.no_cudnn, HasSubstr("needs a CUDA device"));
    const auto contestants =
        contestants_of(suite, Device::cpu(), target_named("cpu"), libraries, {measured_recipes().front()});
    ASSERT_GT(contestants.size(), 1U);
    EXPECT_EQ(contestants.front().kind, ContestantKind::dense);
    const CaseResult result = measured(text, {contestants.back()}, quick());
    const Entry& weft = result.entries.front();
    EXPECT_EQ(weft.name, "weft default");
    EXPECT_TRUE(weft.timed()) << weft.reason;
    EXPECT_EQ(weft.check.rows, suite.problems.front().m);
    EXPECT_EQ(table_row(result).at(6), "-") << "the limit is that of a GPU";
    EXPECT_EQ(verdict_of(result), "weft default");
  }
}

/// Images innermost, while those whom it is compared with have them outermost.
TEST(Bench, RowGroupsOfAConvolution) {
  const char* const grouped = R"({"suite": "g", "dtype": "f16", "sparsity": [0.5], "batch": [3], "V": [16],
    "problems": [{"C": 4, "F": 20, "H": 6, "W": 5, "R": 3, "S": 3, "stride": 2}]})";
  const Suite suite = parse_suite(grouped, "g.json");
  const Libraries libraries(Device::cpu());
  auto contestants = contestants_of(suite, Device::cpu(), target_named("cpu"), libraries, measured_recipes());
  ASSERT_EQ(contestants.size(), 1U);
  contestants.push_back(forger("definition", [](Array&) {}));
  contestants.back().arithmetic = DenseType::f16;
  const CaseResult result = measured(grouped, contestants, quick());
  EXPECT_EQ(result.entries.front().name, "weft shfl_bw");
  for (const Entry& entry : result.entries) EXPECT_TRUE(entry.timed()) << entry.reason;
}

TEST(Bench, WhatIsChosenTakesEveryLayoutGroupAndDilation) {
  const char* const images = R"({"suite": "images", "problems": [
    {"op": "conv2d", "C": 8, "F": 16, "H": 9, "W": 7, "R": 3, "S": 3, "stride": 2, "batch": 3, "groups": 2,
     "dtype": "f32", "layout": "nhwc", "sparsity": 0.5, "pattern": "unstructured"},
    {"op": "conv2d", "C": 6, "F": 4, "H": 9, "W": 8, "R": 3, "S": 3, "pad": 2, "dilation": 2, "batch": 2,
     "dtype": "f32", "layout": "chwn", "sparsity": 0.7, "pattern": "unstructured"}]})";
  for (const Suite& suite : parse_suites(images, "images.json")) {
    const Contestant chosen = auto_contestant(suite, target_named("cpu"));
    const CaseResult result = measure(suite, cases_of(suite).front(), {}, Device::cpu(),
                                      {chosen, forger("definition", [](Array&) {})}, quick());
    for (const Entry& entry : result.entries) {
      EXPECT_TRUE(entry.timed()) << entry.name << ": " << entry.reason;
      EXPECT_EQ(entry.check.rows, suite.problems.front().m);
    }
  }
}

TEST(Bench, ARecipeThatDoesNotFitSaysWhy) {
  const Suite suite = parse_suite(products, "s.json");
  const Libraries libraries(Device::cpu());
  const auto contestants =
      contestants_of(suite, Device::cpu(), target_named("cpu"), libraries, measured_recipes());
  const CaseResult result = measured(products, contestants, quick());
  const auto sparsert = std::find_if(result.entries.begin(), result.entries.end(),
                                     [](const Entry& entry) { return entry.name == "weft sparsert"; });
  ASSERT_NE(sparsert, result.entries.end());
  EXPECT_FALSE(sparsert->timed());
  EXPECT_THAT(sparsert->reason, HasSubstr("does not fit the target"));
}

TEST(Bench, ASweepTriesPointsAndTimesTheFastest) {
  const char* text = R"({"suite": "sweep", "dtype": "f32", "sparsity": [0.9],
                         "problems": [{"id": 1, "M": 64, "K": 64, "N": 640}]})";
  const Suite suite = parse_suite(text, "s.json");
  const Device device = Device::simulator("sm_80");
  const Target& target = target_named("sm_80");
  const Libraries libraries(device);
  const auto contestants = contestants_of(suite, device, target, libraries, measured_recipes(), Sweep{});
  const SuiteCase chosen = cases_of(suite, {}).front();
  const CaseResult result = measure(suite, chosen, RealWeights(), device, contestants, quick());
  const auto ours = std::ranges::find(result.entries, "weft sparsert", &Entry::name);
  ASSERT_TRUE(ours != result.entries.end() && ours->timed()) << result.entries.back().reason;
  EXPECT_GT(ours->tried.size(), 3U);
  double least = ours->tried.front().second;
  for (const auto& [name, microseconds] : ours->tried) least = std::min(least, microseconds);
  const auto taken = std::find_if(ours->tried.begin(), ours->tried.end(),
                                  [&](const auto& point) { return point.first == ours->variant; });
  ASSERT_NE(taken, ours->tried.end());
  EXPECT_EQ(taken->second, least);
  const auto plain = std::ranges::find(result.entries, "weft default", &Entry::name);
  EXPECT_TRUE(plain != result.entries.end() && plain->tried.empty()) << "it has no knobs";
}

TEST(Bench, WhoIsWrongIsNotTimed) {
  const auto contestants =
      std::vector{forger("right", [](Array&) {}), forger("wrong", [](Array& c) { c.set(c.size() - 1, 1e6); }),
                  forger("lazy", [](Array& c) { c.set(7, std::nan("")); })};
  const CaseResult result = measured(products, contestants, quick());
  EXPECT_TRUE(result.entries[0].timed());
  EXPECT_FALSE(result.entries[1].timed());
  EXPECT_TRUE(result.entries[1].wrong);
  EXPECT_THAT(result.entries[1].reason, HasSubstr("relative error"));
  EXPECT_THAT(result.entries[2].reason, HasSubstr("not a number"));
}

TEST(Bench, OfSeveralWaysOneThatIsRightIsTaken) {
  Contestant contestant = forger("library", [](Array& c) { c.set(0, 1e6); });
  contestant.variants.front().name = "wrong way";
  contestant.variants.push_back(forger("", [](Array&) {}).variants.front());
  contestant.variants.push_back({"refused way", {}, [](std::shared_ptr<const Operands>) -> weft::Run {
                                   throw RuntimeError("not supported");
                                 }});
  const CaseResult result = measured(products, {contestant}, quick());
  EXPECT_EQ(result.entries[0].variant, "way");
  EXPECT_TRUE(result.entries[0].timed());
  EXPECT_TRUE(result.entries[0].reason.empty());
}

TEST(Bench, CopiesAreKernelsOfTheirOwn) {
  std::vector<Contestant> contestants{forger("library", [](Array&) {})};
  const Suite suite = parse_suite(products, "s.json");
  const Libraries libraries(Device::cpu());
  for (const Contestant& weft :
       contestants_of(suite, Device::cpu(), target_named("cpu"), libraries, {measured_recipes().front()}))
    contestants.push_back(weft);
  const CaseResult result = measured(products, contestants, quick(3));
  EXPECT_EQ(result.copies, 3);
  for (const Entry& entry : result.entries) EXPECT_TRUE(entry.timed()) << entry.name << ": " << entry.reason;
  EXPECT_THROW(measured(products, contestants, {0, 1}), UserError);
}

}  // namespace
}  // namespace weft
