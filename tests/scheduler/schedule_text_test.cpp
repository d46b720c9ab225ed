// Schedules as C++: what Schedule::cpp_file prints compiles, and makes the same schedule again.
#include <dlfcn.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/index.h>
#include <weft/formats/prune/prune.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/recipes/blocks/hb_ell.h>
#include <weft/scheduler/recipes/blocks/hb_ell_swmma.h>
#include <weft/scheduler/recipes/grouped/v_n_m.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/scheduler/recipes/unstructured/sliced_rows.h>
#include <weft/scheduler/recipes/unstructured/sparsert.h>
#include <weft/search/spaces/problems.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "support/examples.h"

namespace weft {
namespace {

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

std::shared_ptr<const SparseTensor> weights_in(const char* format, DType dtype, std::int64_t rows,
                                               std::int64_t columns) {
  WeightMatrix matrix =
      synthetic_layer({.rows = rows, .columns = columns, .sparsity = 0.8, .dtype = dtype, .seed = 5});
  const Format packed = parse_format(format);
  if (packed.name == "n_m" || packed.name == "v_n_m")
    matrix = pruned(matrix, choose_weights(matrix, packed, {}));
  return std::make_shared<const SparseTensor>(pack(matrix, packed));
}

std::shared_ptr<const SparseTensor> halves(const char* format) {
  return weights_in(format, DType::f16, 128, 128);
}

Algorithm product(DType dtype, std::int64_t columns = 256) {
  return spmm_algorithm(128, 128, columns, dtype);
}

Convolution small_convolution(ImageLayout layout) {
  Convolution c;
  c.batch = 8;
  c.channels = 4;
  c.filters = 64;
  c.image = {6, 5};
  c.filter = {3, 3};
  c.pad = {1, 1};
  c.layout = layout;
  return c;
}

std::shared_ptr<const SparseTensor> filters_in(const char* format, DType dtype) {
  WeightMatrix matrix =
      synthetic_layer({.rows = 64, .columns = 36, .sparsity = 0.6, .dtype = dtype, .seed = 5});
  matrix.shape = {64, 4, 3, 3};
  return std::make_shared<const SparseTensor>(pack(matrix, parse_format(format)));
}

void add_recipes(std::vector<Schedule>& list) {
  const Target& hopper = target_named("sm_90a");
  for (const char* target : {"cpu", "sm_80"}) {
    for (const char* format : {"csr", "csc", "coo", "dense", "ell", "bcsr", "shfl_bw", "hb_ell"})
      list.push_back(default_schedule(product(DType::f32), weights_in(format, DType::f32, 128, 128),
                                      target_named(target)));
  }
  const auto single = weights_in("csr", DType::f32, 128, 128);
  for (const SparseRtForm form : {SparseRtForm::chosen, SparseRtForm::baked, SparseRtForm::streaming,
                                  SparseRtForm::row_per_warp, SparseRtForm::pieces})
    list.push_back(sparsert(product(DType::f32), single, hopper, {.form = form}));
  list.push_back(sparsert(product(DType::f32), single, hopper,
                          {.form = SparseRtForm::baked, .rows = 32, .threads = 64, .chunk = 16}));
  list.push_back(sparsert(product(DType::f32), single, hopper,
                          {.form = SparseRtForm::baked, .rows = 32, .threads = 64, .groups = 4}));
  list.push_back(sparsert(convolution_algorithm(small_convolution(ImageLayout::nchw), DType::f32),
                          filters_in("csr", DType::f32), hopper));
  list.push_back(sliced_rows(product(DType::f32), single, hopper));
  for (const char* target : {"sm_75", "sm_80", "sm_90a"})
    list.push_back(shfl_bw(product(DType::f16), halves("shfl_bw:V=64"), target_named(target)));
  list.push_back(shfl_bw(product(DType::f16), halves("vector_wise:V=32"), hopper, {.groups = 2}));
  list.push_back(shfl_bw(product(DType::f16), halves("shfl_bw:V=64"), hopper,
                         {.tile_n = 64, .blocks = 2, .cluster = 2}));
  list.push_back(
      shfl_bw(product(DType::f16), halves("shfl_bw:V=64"), hopper, {.tile_n = 64, .groups = 0, .blocks = 2}));
  list.back().overlap_launches("A");
  list.push_back(shfl_bw(convolution_algorithm(small_convolution(ImageLayout::chwn), DType::f16),
                         filters_in("shfl_bw:V=64", DType::f16), hopper));
  for (const char* format : {"n_m", "v_n_m:V=64", "column_quads", "hb_ell:pairs=1"})
    list.push_back(v_n_m(product(DType::f16), halves(format), hopper));
  for (const char* format : {"hb_ell", "hb_ell:every=8"}) {
    list.push_back(hb_ell(product(DType::f16), halves(format), target_named("sm_80")));
    list.push_back(hb_ell(product(DType::f16), halves(format), hopper));
  }
  list.push_back(hb_ell_swmma(product(DType::f16), halves("hb_ell"), target_named("sm_70_swmma")));
}

/// Steps that no recipe takes, and open numbers.
void add_by_hand(std::vector<Schedule>& list) {
  const auto csr = weights_in("csr", DType::f32, 128, 128);
  Schedule on_cpu = schedule(product(DType::f32), csr, target_named("cpu"));
  on_cpu.tile(m = 16, n = 64).reorder(m.inner, k, n.inner).vectorize(n.inner).parallel(m.outer);
  list.push_back(std::move(on_cpu));
  Schedule open = schedule(product(DType::f32), csr, target_named("sm_80"));
  open.split(m = knob("rows", {2, 4, 8}), n = 32).bind(m.outer, block_x).bind(n.inner, lane);
  list.push_back(std::move(open));
  Schedule balanced = schedule(product(DType::f32), csr, target_named("sm_80"));
  balanced.transpose("B")
      .align("C")
      .split(n = 32)
      .balance(m, parts = 16)
      .bind(m.outer, block_x)
      .stream_results("C");
  list.push_back(std::move(balanced));
  Schedule peeled = schedule(product(DType::f32), csr, target_named("cpu"));
  peeled.split(n = 48).peel(n.outer, from_begin = knob("first", {1, 2}), from_end = 1);
  list.push_back(std::move(peeled));
}

/// The text of cpp_file without its include, its function under a name that a library is asked for.
std::string function_of(const Schedule& schedule, std::size_t number) {
  const std::string text = schedule.cpp_file();
  const std::string include = "#include <weft/weft.h>\n";
  const std::size_t at = text.find(include);
  EXPECT_NE(at, std::string::npos) << text;
  return fmt::format(
      "namespace s{0} {{\n{1}}}\nextern \"C\" weft::Schedule& make_{0}(weft::Schedule& s) {{\n"
      "  return s{0}::schedule_{2}(s);\n}}\n",
      number, text.substr(at + include.size()), schedule.algorithm().name);
}

/// What messages about the number of arguments say, which is C++ too.
std::string usages() {
  std::string text = "void usages(weft::Schedule& s) {\n  using namespace weft;\n";
  for (const char* index : {"m", "n", "k", "p", "q"}) text += fmt::format("  WEFT_INDEX({});\n", index);
  for (const StepKind& kind : step_kinds()) text += fmt::format("  s{};\n", kind.usage());
  return text + "}\n";
}

std::string output_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(ScheduleText, WhatIsPrintedAsCppCompilesAndMakesTheSameSchedule) {
  std::vector<Schedule> schedules;
  add_recipes(schedules);
  add_by_hand(schedules);
  std::set<std::string> steps;
  std::string source = "#include <weft/dsl/index.h>\n#include <weft/scheduler/program/schedule.h>\n";
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    source += function_of(schedules[i], i);
    for (const Step& step : schedules[i].steps()) steps.insert(step.name);
  }
  source += usages();
  for (const StepKind& kind : step_kinds())
    EXPECT_TRUE(steps.contains(std::string(kind.name))) << "no schedule has the step " << kind.name;

  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "weft_schedule_text";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "schedules.cpp") << source;
  std::string command = WEFT_COMPILER " -std=c++20 -Wall -Wextra -Werror -shared -fPIC";
  std::string includes = WEFT_INCLUDES;
  for (std::size_t end = 0; !includes.empty(); includes.erase(0, end + 1)) {
    end = std::min(includes.find('|'), includes.size() - 1);
    command += " -I" + includes.substr(0, includes.find('|'));
  }
  command += fmt::format(" -o {0}/schedules.so {0}/schedules.cpp 2> {0}/messages", folder.string());
  ASSERT_EQ(std::system(command.c_str()), 0) << output_of(folder / "messages") << command;

  void* library = dlopen((folder / "schedules.so").c_str(), RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    const Schedule& s = schedules[i];
    SCOPED_TRACE(s.cpp_file());
    auto* make =
        reinterpret_cast<Schedule& (*)(Schedule&)>(dlsym(library, fmt::format("make_{}", i).c_str()));
    ASSERT_NE(make, nullptr);
    Schedule again(s.algorithm(), s.shared_weights(), s.target());
    make(again);
    EXPECT_EQ(again.cpp(), s.cpp());
    EXPECT_EQ(ir::print(again.program()), ir::print(s.program()));
  }
}

TEST(ScheduleText, NamesThatMeanSomethingElseAreQuoted) {
  const auto text = [](const Step& step) { return step.cpp(); };
  EXPECT_EQ(text({"split", {{"p_q", std::int64_t{4}}}, {}}), ".split(LoopName(\"p_q\") = 4)");
  EXPECT_EQ(text({"bind", {{"", "lane"}, {"", "lane"}}, {}}), ".bind(\"lane\", lane)");
  EXPECT_EQ(text({"unroll", {{"", "n.inner.outer"}, {"", "n.inner.outer.inner"}, {"", "k.2"}}, {}}),
            ".unroll(n.inner.outer, \"n.inner.outer.inner\", \"k.2\")");
  EXPECT_EQ(text({"stage", {{"", "A.values"}, {"", "shared"}, {"at", "k.block"}}, {}}),
            ".stage(\"A.values\", shared, at = \"k.block\")");
}

/// The message of reading this text from a file.
std::string refusal(std::string_view json) {
  try {
    steps_of_json(json, "best.json");
  } catch (const UserError& error) {
    EXPECT_FALSE(error.report().found.empty());
    EXPECT_FALSE(error.report().accepted.empty());
    return error.what();
  }
  ADD_FAILURE() << "accepted: " << json;
  return {};
}

TEST(ScheduleText, FilesThatAreNoScheduleSayWhereAndWhatWasFound) {
  using testing::AllOf, testing::HasSubstr, testing::Not;
  const auto step = [](const char* arguments) {
    return fmt::format(R"([{{"step": "split", "arguments": {}}}])", arguments);
  };
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"", "the end of the text at line 1, column 1"},
      {"[\n {\"step\"; 1}]", "\"; 1}]\" at line 2, column 9"},
      {"{}", "an empty object"},
      {"null", "null"},
      {"4.7", "4.7"},
      {"\"\\ud800\"", "line 1"},
      {"[7]", "step 1"},
      {"[{\"step\": 3}]", "\"step\": 3"},
      {"[{\"step\": \"splti\", \"arguments\": []}]", "did you mean split?"},
      {"[{\"step\": \"split\"}]", "no field \"arguments\""},
      {"[{\"step\": \"split\", \"arguments\": {}}]", "\"arguments\": an empty object"},
      {"[{\"step\": \"split\", \"arguments\": [], \"line\": 4}]", "a field \"line\""},
      {"[{\"step\": \"split\", \"arguments\": [], \"place\": 4}]", "program.cpp:12"},
      {"[{\"step\": \"split\", \"arguments\": [], \"place\": \"a.cpp:99999999999\"}]", "program.cpp:12"},
      {step(R"([["n"]])"), "step 1, split, argument 1"},
      {step(R"([["m", 2], ["n", 4.5]])"), "step 1, split, argument 2"},
      {step(R"([["n", 9223372036854775808]])"), "9223372036854775808"},
      {step(R"([["n", 1e300]])"), "1e+300"},
      {step(R"([["n", true]])"), "true"},
      {step(R"([["n", {"knob": "tile"}]])"), "no list \"values\""},
      {step(R"([["n", {"knob": "tile", "values": [4, 4]}]])"), "4 twice"},
      {step(R"([["n", {"knob": "tile", "values": []}]])"), "no values"},
      {step(R"([["n", {"knob": "a tile", "values": [4]}]])"), "a tile"}};
  for (const auto& [json, phrase] : wrong)
    EXPECT_THAT(refusal(json),
                AllOf(HasSubstr("best.json"), HasSubstr(phrase), Not(HasSubstr("json.exception"))))
        << json;
  EXPECT_TRUE(steps_of_json("[]").empty());
}

TEST(ScheduleText, PlacesAreReadBack) {
  Schedule s = test::spmm_schedule("cpu");
  s.split(n = 64);
  const unsigned line = __LINE__ - 1;
  const std::vector<Step> steps = steps_of_json(s.json(), "best.json");
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps.front().place.text(), fmt::format("schedule_text_test.cpp:{}", line));
  Schedule twice = test::spmm_schedule("cpu");
  twice.apply(steps.front());
  EXPECT_EQ(twice.steps().front().place.text(), steps.front().place.text());
  try {
    twice.apply(steps.front());
    ADD_FAILURE() << "n was split again";
  } catch (const UserError& error) {
    EXPECT_THAT(error.report().where,
                testing::HasSubstr(fmt::format("best.json, schedule_text_test.cpp:{}, step 2", line)));
  }
}

TEST(ScheduleText, StepsOfRecipesHaveTheLineOfTheirCaller) {
  const Schedule s =
      sparsert(product(DType::f32), weights_in("csr", DType::f32, 128, 128), target_named("sm_80"));
  const unsigned line = __LINE__ - 1;
  for (const Step& step : s.steps())
    EXPECT_EQ(step.place.text(), fmt::format("schedule_text_test.cpp:{}", line)) << step.cpp();
}

}  // namespace
}  // namespace weft
