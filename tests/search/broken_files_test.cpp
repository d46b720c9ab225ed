// Files that somebody edited, or that were cut off: whatever stands in them, the answer is a UserError which
// names the file and what would do, and never another exception.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <weft/backends/runtime/process.h>
#include <weft/dsl/errors.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/search/measure/suite.h>
#include <weft/search/measure/trial_problem.h>
#include <weft/search/spaces/problems.h>
#include <weft/search/trials/best_file.h>
#include <weft/search/trials/plan.h>

#include <filesystem>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

namespace weft {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::Not;

namespace fs = std::filesystem;

using Read = std::function<void(const std::string&)>;

/// "accepted", or what was found; fails for other exceptions, and for messages that help nobody.
std::string answer(const Read& read, const std::string& text, const std::string& file) {
  try {
    read(text);
    return "accepted";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), Not(HasSubstr("json.exception"))) << text.substr(0, 200);
    EXPECT_THAT(error.what(), HasSubstr(file)) << text.substr(0, 200);
    EXPECT_FALSE(error.report().found.empty()) << error.what();
    EXPECT_FALSE(error.report().accepted.empty()) << error.what();
    return error.report().found;
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what() << "\n" << text.substr(0, 400);
    return {};
  }
}

/// Every value of the document in turn is another one, or is missing; and the text ends anywhere.
void break_everywhere(const Json& good, const Read& read, const std::string& file) {
  ASSERT_EQ(answer(read, good.dump(1), file), "accepted");
  for (const char* text : {"", "{}", "null", "4.7", "[]", "{", "\"text\"", "[[[[[[[[", "\xff\xfe", "NaN"})
    EXPECT_NE(answer(read, text, file), "accepted") << text;
  const std::string whole = good.dump(1);
  for (std::size_t size = 1; size + 1 < whole.size(); size += 1 + whole.size() / 97)
    EXPECT_NE(answer(read, whole.substr(0, size), file), "accepted") << size;
  const std::vector<Json> others{-1,     4.7,     "text",         9223372036854775808U,
                                 -1e300, nullptr, Json::object(), Json::array({1, "a"})};
  const Json flat = good.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    for (const Json& other : others) {
      Json broken = good;
      broken[Json::json_pointer(pointer)] = other;
      answer(read, broken.dump(), file);
    }
    Json shorter = good;
    const Json::json_pointer at(pointer);
    Json& parent = shorter[at.parent_pointer()];
    if (parent.is_object()) parent.erase(at.back());
    answer(read, shorter.dump(), file);
  }
}

Record record_with_time() {
  const WeightMatrix matrix = synthetic_layer({.rows = 32, .columns = 48, .sparsity = 0.8});
  TrialProblem problem;
  problem.what = {spmm_algorithm(32, 48, 16, DType::f32), std::make_shared<const WeightMatrix>(matrix),
                  formats::csr()};
  problem.columns = 16;
  problem.source = {{"weights", "w.npy"}, {"n", "16"}};
  Record record = record_for(problem, target_named("sm_90"), "model", nullptr);
  record.id = new_record_id();
  record.recipe = "default";
  record.microseconds = TrialTime{3, 3, 3, 1};
  record.baselines = {{"dense, by the model", true, 5, BaselineOf::model}};
  return record;
}

Schedule schedule_for_sm_90() {
  const WeightMatrix matrix = synthetic_layer({.rows = 32, .columns = 48, .sparsity = 0.8});
  return default_schedule(spmm_algorithm(32, 48, 16, DType::f32),
                          std::make_shared<const SparseTensor>(pack(matrix, formats::csr())),
                          target_named("sm_90"));
}

TEST(BrokenFiles, OutcomesOfSearches) {
  const Json good = Json::parse(json_of_best(record_with_time(), schedule_for_sm_90()));
  const Read read = [](const std::string& text) { best_kernel_of(text, "best.json"); };
  break_everywhere(good, read, "best.json");
  Json broken = good;
  broken["weft_best"] = -1;
  EXPECT_EQ(answer(read, broken.dump(), "best.json, weft_best"), "version -1");
  broken["weft_best"] = "1";
  EXPECT_EQ(answer(read, broken.dump(), "best.json, weft_best"), "\"1\"");
  broken = good;
  broken["us"]["median"] = -5;
  EXPECT_EQ(answer(read, broken.dump(), "best.json, us.median"), "-5");
}

TEST(BrokenFiles, Suites) {
  const Json good = Json::parse(R"({"suite":"s","dtype":"f32","sparsity":[0.5,0.9],"n_scale":[1,2],
    "problems":[{"id":"a","layer":"l","M":64,"K":32,"N":16},{"M":8,"K":8,"N":8}]})");
  break_everywhere(good, [](const std::string& text) { parse_suite(text, "suite.json"); }, "suite.json");
  const Json convolutions = Json::parse(R"({"suite":"s","dtype":"f16","sparsity":[0.5],"V":[32],
    "problems":[{"C":64,"F":32,"H":14,"W":14,"R":3,"S":3,"stride":2,"pad":1}]})");
  break_everywhere(
      convolutions, [](const std::string& text) { parse_suite(text, "suite.json"); }, "suite.json");
}

TEST(BrokenFiles, Plans) {
  const fs::path folder = fs::temp_directory_path() / ("weft_broken_plan_" + std::to_string(getpid()));
  fs::create_directory(folder);
  write_plan(folder.string(),
             {{{"weights", "w.npy"}, {"n", "16"}}, "sm_80", {{"sparsert", {{"rows", 8}}}, {"default", {}}}},
             {"weights"});
  const std::string file = plan_file(folder.string());
  const Json good = Json::parse(read_bytes(file));
  break_everywhere(
      good,
      [&](const std::string& text) {
        write_bytes(file, text);
        source_in(folder.string(), read_plan(folder.string()));
      },
      file);
  fs::remove_all(folder);
  try {
    read_plan(folder.string());
    FAIL() << "there is no plan";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("broken_files_test.cpp:"));
  }
}

TEST(BrokenFiles, RecordsOfDatabases) {
  const Json good = Json::parse(json_of(record_with_time()));
  break_everywhere(good, [](const std::string& text) { record_of(text); }, "");
}

TEST(PublicCalls, OfProblemsAndSuitesNameTheLineThatMadeThem) {
  const auto where = [](auto call) {
    try {
      call();
    } catch (const UserError& error) {
      EXPECT_FALSE(error.report().found.empty());
      EXPECT_FALSE(error.report().accepted.empty());
      return error.report().where;
    }
    return std::string("no error");
  };
  const std::string here = "broken_files_test.cpp:";
  EXPECT_THAT(where([] { spmm_algorithm(0, 4, 4, DType::f32); }), HasSubstr(here));
  EXPECT_THAT(where([] { Convolution{.filter = {3, 3}}.output(); }), HasSubstr(here));
  EXPECT_THAT(where([] { Convolution{.pad = {-1, 0}}.output(); }), HasSubstr("pad"));
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(where([] { convolution_algorithm({.image = {huge, 1}}, DType::f32); }), HasSubstr(here));
  EXPECT_THAT(where([] { convolution_algorithm({.stride = {0, 1}}, DType::f32); }), HasSubstr("stride"));
  EXPECT_THAT(where([] { cases_of({}); }), HasSubstr(here));
  EXPECT_THAT(where([] { read_suite("/nowhere/suite.json"); }), HasSubstr(here));
  EXPECT_THAT(where([] { parse_suite("{", "s.json"); }), HasSubstr(here));
  EXPECT_THAT(where([] { best_kernel_of("{}", "b.json"); }), HasSubstr(here));
}

}  // namespace
}  // namespace weft
