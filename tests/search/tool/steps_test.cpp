// weft steps: the table, a page for each step, the same as JSON, and the nearest name.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/scheduler/program/step.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "call_weft.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

TEST(StepsVerb, ListsEveryStep) {
  const VerbAnswer answer = call_weft({"steps"});
  EXPECT_EQ(answer.code, 0) << answer.errors;
  const std::string unwrapped = std::regex_replace(answer.out, std::regex("\n +"), " ");
  for (const StepKind& kind : step_kinds())
    EXPECT_THAT("\n" + unwrapped, HasSubstr(fmt::format("\n{:<20}{}\n", kind.name, kind.sentence)));
  std::istringstream lines(answer.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST(StepsVerb, HasAPageOfEach) {
  for (const StepKind& kind : step_kinds()) {
    const VerbAnswer answer = call_weft({"steps", std::string(kind.name)});
    EXPECT_EQ(answer.code, 0) << answer.errors;
    EXPECT_THAT(answer.out, HasSubstr("Example: " + kind.usage()));
    for (const Parameter& each : kind.parameters)
      EXPECT_THAT(answer.out, HasSubstr("\n" + std::string(each.name)));
    for (const Precondition& each : kind.preconditions)
      EXPECT_THAT(answer.out, HasSubstr(" " + std::to_string(each.number) + "  "));
  }
  const VerbAnswer page = call_weft({"steps", "stage"});
  EXPECT_THAT(page.out, HasSubstr("shared, registers"));
}

TEST(StepsVerb, SaysTheSameAsJson) {
  const auto all = nlohmann::json::parse(call_weft({"steps", "--json"}).out);
  EXPECT_EQ(all.size(), step_kinds().size());
  const auto page = nlohmann::json::parse(call_weft({"steps", "stage", "--json"}).out);
  EXPECT_EQ(page.at("name"), "stage");
  const auto& depth = page.at("parameters").at(3);
  EXPECT_EQ(depth.at("name"), "depth");
  EXPECT_EQ(depth.at("least"), 1);
  EXPECT_EQ(depth.at("most"), 8);
  EXPECT_EQ(depth.at("left_out"), "1");
  EXPECT_EQ(depth.at("knob"), true);
  EXPECT_EQ(page.at("preconditions").at(0).at("number"), 1);
}

TEST(StepsVerb, RefusesANameThatThereIsNotWithTheNearest) {
  const VerbAnswer answer = call_weft({"steps", "tiel"});
  EXPECT_NE(answer.code, 0);
  EXPECT_THAT(answer.errors, HasSubstr("did you mean tile?"));
}

}  // namespace
}  // namespace weft
