// Shared libraries of somebody's own as contestants: found, asked, checked and timed, or told what is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/runtime/process.h>
#include <weft/dsl/errors.h>
#include <weft/search/measure/plug_in_contestant.h>
#include <weft/search/measure/report.h>

#include <csignal>
#include <filesystem>

#include "definition_contestant.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string folder_of_plug_in(const std::string& name) {
  return std::string(WEFT_PLUG_INS) + "/" + name;
}

const char* const products_of_f32 = R"({"suite": "s", "dtype": "f32", "sparsity": [0.9],
  "problems": [{"M": 30, "K": 50, "N": 17}]})";

/// The result of a plug-in beside a contestant that is right.
Entry entry_of(const std::string& name, const BenchOptions& options = {3, 1},
               const char* text = products_of_f32) {
  const Suite suite = parse_suite(text, "s.json");
  Contestant other{"definition", ContestantKind::dense, dense_type_of(suite.dtype).value_or(DenseType::f16)};
  other.variants.push_back(by_definition());
  const std::vector<PlugIn> brought = plug_ins({folder_of_plug_in(name)}, Device::cpu(), suite.dtype);
  const CaseResult result = measure(suite, cases_of(suite).front(), {}, Device::cpu(),
                                    {brought.front().contestant, other}, options);
  EXPECT_TRUE(result.entries[1].timed()) << "others are measured, whatever a plug-in does";
  return result.entries[0];
}

std::string refusal_of(const std::vector<std::string>& folders) {
  try {
    plug_ins(folders, Device::cpu(), DType::f32);
  } catch (const UserError& error) {
    return error.what();
  }
  return "nothing";
}

TEST(PlugIn, WhoIsRightIsTimed) {
  const Entry entry = entry_of("right");
  EXPECT_EQ(entry.name, "contestant right");
  EXPECT_TRUE(entry.timed()) << entry.reason;
  EXPECT_EQ(entry.check.rows, 30);
  EXPECT_LT(entry.check.relative, 1e-6);
  EXPECT_EQ(entry.reason, "");
  EXPECT_THAT(entry.variant, HasSubstr("thread"));
  EXPECT_EQ(plug_ins({folder_of_plug_in("right")}, Device::cpu(), DType::f32).front().version,
            "contestant right 1.5 (libplug_in_right.so)");
}

TEST(PlugIn, CopiesArePreparedSideBySide) {
  const Entry entry = entry_of("right", {3, 3});
  EXPECT_TRUE(entry.timed()) << entry.reason;
}

TEST(PlugIn, OperandsLieAsItWishes) {
  EXPECT_TRUE(entry_of("features_last").timed());
  const char* const pixels = R"({"suite": "c", "dtype": "f32", "sparsity": [0.8], "problems": [
    {"C": 8, "F": 6, "H": 9, "W": 7, "R": 1, "S": 1, "pad": 0}]})";
  for (const char* name : {"right", "features_last"}) {
    const Entry entry = entry_of(name, {3, 1}, pixels);
    EXPECT_TRUE(entry.timed()) << name << ": " << entry.reason;
  }
}

TEST(PlugIn, WhoIsWrongIsNotTimed) {
  for (const auto& [name, reason] :
       {std::pair{"wrong", "relative error"}, std::pair{"lazy", "not a number"}}) {
    const Entry entry = entry_of(name);
    EXPECT_FALSE(entry.timed()) << name;
    EXPECT_TRUE(entry.wrong) << name;
    EXPECT_THAT(entry.reason, HasSubstr(reason));
  }
}

TEST(PlugIn, WhoStopsComputingWhenItIsTimedHasNoTime) {
  const Entry entry = entry_of("tired");
  EXPECT_FALSE(entry.timed());
  EXPECT_TRUE(entry.wrong);
  EXPECT_THAT(entry.reason,
              AllOf(HasSubstr("launched once more as it was timed"), HasSubstr("not a number")));
}

TEST(PlugIn, LessPreciseArithmeticIsNamedAndAllowed) {
  const Entry entry = entry_of("rough");
  EXPECT_EQ(entry.name, "contestant rough tf32");
  EXPECT_EQ(entry.arithmetic, DenseType::tf32);
  EXPECT_TRUE(entry.timed()) << entry.reason;
  EXPECT_GT(entry.check.relative, 2e-5) << "too rough for f32";
}

TEST(PlugIn, WhatItDoesNotTakeItSays) {
  const auto expect_refusal = [](const Entry& entry, const char* reason) {
    EXPECT_FALSE(entry.timed() || entry.wrong);
    EXPECT_EQ(entry.reason, reason);
  };
  expect_refusal(entry_of("refusing"), "it does not take the problem: only on  a Tuesday");
  const char* const halves = R"({"suite": "h", "dtype": "f16", "sparsity": [0.5],
    "problems": [{"M": 8, "K": 8, "N": 8}]})";
  expect_refusal(entry_of("right", {3, 1}, halves), "it does not take the problem: it multiplies f32 alone");
  const char* const grouped = R"({"suite": "c", "dtype": "f32", "sparsity": [0.5], "problems": [
    {"C": 8, "F": 6, "H": 9, "W": 7, "R": 1, "S": 1, "groups": 2}]})";
  expect_refusal(entry_of("right", {3, 1}, grouped),
                 "it does not take the problem: filters of one pixel over one image alone");
}

TEST(PlugIn, IsToldTheWholeProblem) {
  const auto told = [](const char* text) { return entry_of("told", {1, 1}, text).reason; };
  EXPECT_THAT(
      told(products_of_f32),
      HasSubstr(
          "device -1, f32 to f32, 30 x 50 x 17, 150 stored, groups of 0 rows of 0, blocks of 0, 0 images"));
  EXPECT_THAT(told(R"({"suite": "p", "dtype": "f16", "patterns": ["16:2:8"],
                       "problems": [{"M": 32, "K": 16, "N": 8}]})"),
              HasSubstr("f16 to f16, 32 x 16 x 8, 128 stored, groups of 16 rows of 8, blocks of 0"));
  EXPECT_THAT(told(R"({"suite": "v", "dtype": "f16", "sparsity": [0.5], "V": [16],
                       "problems": [{"M": 32, "K": 16, "N": 8}]})"),
              HasSubstr("256 stored, groups of 16 rows of 0"));
  EXPECT_THAT(
      told(R"({"suite": "c", "dtype": "f32", "sparsity": [0.5], "batch": [3], "problems": [
                       {"C": 8, "F": 6, "H": 9, "W": 7, "R": 3, "S": 1, "stride": 2, "groups": 2}]})"),
      HasSubstr("6 x 12 x 60, 36 stored, groups of 0 rows of 0, blocks of 0, 3 images 8 -> 6 in 2 groups, "
                "9x7 by 3x1, pad 1x0, stride 2x2, dilation 1x1: 5x4"));
}

/// Which prepare() of the library looks at.
TEST(PlugIn, RowsComeWithTheOrderOfTheirGroups) {
  const Entry entry = entry_of("right", {3, 1}, R"({"suite": "v", "dtype": "f32", "sparsity": [0.5], "V": [8],
                                                    "problems": [{"M": 30, "K": 16, "N": 9}]})");
  EXPECT_TRUE(entry.timed()) << entry.reason;
}

TEST(PlugIn, CallsThatFailAreReasons) {
  EXPECT_EQ(entry_of("failing").reason, "weft_contestant_prepare failed with 42: no kernel of 7 warps");
  EXPECT_EQ(entry_of("silent").reason, "weft_contestant_launch failed with 5: it does not say why");
  EXPECT_EQ(entry_of("throwing").reason, "weft_contestant_takes threw an exception: row 7");
}

TEST(PlugIn, WhoFailsWhileAllTakeTurnsIsLeftOut) {
  const Entry entry = entry_of("failing_later", {1000, 1});
  EXPECT_FALSE(entry.timed() || entry.wrong);
  EXPECT_EQ(entry.reason, "weft_contestant_launch failed with 1: that is too many");
}

using PlugInDeathTest = testing::Test;

TEST_F(PlugInDeathTest, WhoCrashesIsNamed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(entry_of("crashing"), testing::KilledBySignal(SIGABRT),
              "contestant crashing crashed in weft_contestant_launch");
}

TEST(PlugIn, WritingElsewhereIsFound) {
  EXPECT_EQ(entry_of("writing_x").reason, "it changed X, which it may only read");
  EXPECT_EQ(entry_of("writing_beside").reason, "it wrote beside X or Y");
}

/// The library of examples/13_contestant that starts an interpreter, with contestant.py of these tests.
TEST(PlugIn, MayBeWrittenInPython) {
  if (!std::filesystem::exists(folder_of_plug_in("python"))) GTEST_SKIP() << "no Python to build with";
  const Entry entry = entry_of("python");
  EXPECT_EQ(entry.name, "contestant python");
  EXPECT_TRUE(entry.timed()) << entry.reason;
  const char* const halves = R"({"suite": "h", "dtype": "f16", "sparsity": [0.5],
    "problems": [{"M": 8, "K": 8, "N": 8}]})";
  EXPECT_EQ(entry_of("python", {3, 1}, halves).reason, "it does not take the problem: TypeError: no f16");
  const char* const images = R"({"suite": "c", "dtype": "f32", "sparsity": [0.8], "problems": [
    {"C": 4, "F": 6, "H": 9, "W": 7, "R": 3, "S": 2, "pad": 1}]})";
  EXPECT_EQ(entry_of("python", {3, 1}, images).reason, "it does not take the problem: no filters of (3, 2)");
}

TEST(PlugIn, IsNotForSimulatedDevices) {
  const Suite suite = parse_suite(products_of_f32, "s.json");
  const Device device = Device::simulator("sm_80");
  const Contestant contestant =
      plug_ins({folder_of_plug_in("right")}, device, suite.dtype).front().contestant;
  const CaseResult result = measure(suite, cases_of(suite).front(), {}, device, {contestant}, {1, 1});
  EXPECT_THAT(result.entries.front().reason, HasSubstr("a processor or a CUDA device, and not on sim:sm_80"));
}

TEST(PlugIn, LibrariesThatAreNoneAreRefused) {
  EXPECT_THAT(refusal_of({folder_of_plug_in("of_another_interface")}),
              AllOf(HasSubstr("interface 77"), HasSubstr("interface 1: compile it"),
                    HasSubstr("libplug_in_of_another_interface.so")));
  EXPECT_THAT(refusal_of({folder_of_plug_in("incomplete")}),
              AllOf(HasSubstr("it has no weft_contestant_takes, no weft_contestant_prepare, no "
                              "weft_contestant_launch, no weft_contestant_release"),
                    HasSubstr("the five functions of")));
  EXPECT_THAT(refusal_of({folder_of_plug_in("unnamed")}), HasSubstr("1 to 40 printable characters"));
  EXPECT_THAT(refusal_of({folder_of_plug_in("right"), folder_of_plug_in("right")}),
              AllOf(HasSubstr("two contestants have one name"), HasSubstr("right, as the one of")));
}

TEST(PlugIn, FoldersWithoutOneLibraryAreRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  EXPECT_THAT(refusal_of({path + "/nowhere"}), HasSubstr("No such file or directory"));
  EXPECT_THAT(refusal_of({path}), HasSubstr("an empty folder"));
  write_bytes(folder.path() / "notes.txt", "");
  EXPECT_THAT(refusal_of({path}),
              AllOf(HasSubstr("no *.so, but notes.txt"), HasSubstr("one shared library")));
  write_bytes(folder.path() / "libb.so", "no library");
  EXPECT_THAT(refusal_of({path}), AllOf(HasSubstr("cannot be loaded"), HasSubstr("libb.so"),
                                        HasSubstr("a shared library for this machine")));
  write_bytes(folder.path() / "liba.so", "");
  EXPECT_THAT(refusal_of({path}), HasSubstr("found:    liba.so, libb.so\n"));
}

}  // namespace
}  // namespace weft
