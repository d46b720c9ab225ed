// The dense libraries of the processor as contestants: right where they are there, a reason where not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/search/measure/bench.h>
#include <weft/search/measure/processor_contestants.h>

namespace weft {
namespace {

void expect_right_or_absent(const char* text) {
  const Suite suite = parse_suite(text, "s.json");
  const Libraries libraries(Device::cpu());
  const std::vector<Contestant> contestants = processor_contestants(suite, libraries);
  ASSERT_FALSE(contestants.empty());
  const CaseResult result = measure(suite, cases_of(suite).front(), {}, Device::cpu(), contestants, {3, 1});
  for (const Entry& entry : result.entries) {
    if (entry.timed()) continue;
    EXPECT_FALSE(entry.wrong) << entry.name << ": " << entry.reason;
    EXPECT_THAT(entry.reason, ::testing::AnyOf(::testing::HasSubstr("none of oneDNN, MKL, OpenBLAS and BLIS"),
                                               ::testing::HasSubstr("no oneDNN 2 or 3")))
        << entry.name;
  }
}

TEST(ProcessorContestants, MultiplyOrSayWhyNot) {
  expect_right_or_absent(R"({"suite": "s", "dtype": "f32", "sparsity": [0.5],
                             "problems": [{"M": 37, "K": 53, "N": 19}]})");
}

TEST(ProcessorContestants, ConvolveOrSayWhyNot) {
  expect_right_or_absent(R"({"suite": "s", "dtype": "f32", "sparsity": [0.5], "batch": [2],
                             "problems": [{"C": 4, "F": 10, "H": 9, "W": 7, "R": 3, "S": 3, "pad": 1,
                                           "stride": 2}]})");
}

TEST(ProcessorContestants, AreNoneOfOtherTypes) {
  const Suite suite = parse_suite(R"({"suite": "s", "dtype": "f16", "sparsity": [0.5],
                                      "problems": [{"M": 37, "K": 53, "N": 19}]})",
                                  "s.json");
  EXPECT_TRUE(processor_contestants(suite, Libraries(Device::cpu())).empty());
}

}  // namespace
}  // namespace weft
