#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/search/model/predictor.h>
#include <weft/search/model/validation.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "made_times.h"

namespace weft {
namespace {

using testing::HasSubstr;

Predictor made_predictor(const TreeOptions& options = {}) {
  const TimingTable table = made_times(80, 0.03, 21);
  return make_predictor(table, Labelling()(table), options);
}

TEST(Predictor, is_the_same_after_it_was_stored) {
  const Predictor predictor = made_predictor();
  const Predictor again = predictor_of(json_of(predictor), "tree.json");
  EXPECT_EQ(json_of(again), json_of(predictor));
  EXPECT_EQ(again.classes, predictor.classes);
  EXPECT_EQ(again.training.problems, 240U);
  EXPECT_EQ(again.training.options.max_height, TreeOptions::unlimited);
  const TimingTable table = made_times(30, 0, 4);
  EXPECT_EQ(again.times.fits().size(), predictor.times.fits().size());
  EXPECT_FALSE(again.times.fits().empty());
  for (const TimingTable::Problem& problem : table.problems) {
    EXPECT_EQ(again.ranking(problem.features), predictor.ranking(problem.features));
    EXPECT_EQ(again.times.covers(problem.features), predictor.times.covers(problem.features));
  }
}

TEST(Predictor, asks_the_tree_where_no_times_were_fitted) {
  const Predictor predictor = made_predictor();
  FeatureValues values = made_times(1, 0, 4).problems.front().features;
  const std::vector<int> of_times = predictor.ranking(values);
  EXPECT_EQ(of_times.front(), predictor.times.ranking(values).front().number);
  values[4] = 16;
  EXPECT_EQ(predictor.ranking(values), predictor.tree.ranking(values));
}

TEST(Predictor, prints_times_comparisons_and_leaves) {
  const std::string text = text_of(made_predictor({.max_height = 2}));
  EXPECT_THAT(text, HasSubstr("microseconds, fitted to "));
  EXPECT_THAT(text, HasSubstr(" problems, V = 64\n  shfl_bw:stages="));
  EXPECT_THAT(text, HasSubstr(" <= "));
  EXPECT_THAT(text, HasSubstr("shfl_bw:stages="));
  EXPECT_THAT(text, HasSubstr("of the best time)"));
}

/// Nine problems of which two never tried the configuration that is best wherever it was tried.
TimingTable partly_tried() {
  TimingTable table = made_times(9, 0, 3);
  table.problems.resize(9);
  table.configurations.resize(2);
  const double never_ran = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < table.problems.size(); ++i)
    table.problems[i].microseconds = i < 7 ? std::vector<double>{10, 50} : std::vector<double>{never_ran, 50};
  return table;
}

TEST(Predictor, a_leaf_is_scored_where_its_choice_was_tried) {
  const TimingTable table = partly_tried();
  const Predictor predictor = make_predictor(table, Labelling()(table), {.max_height = 0});
  const DecisionTree::Node& leaf = predictor.tree.nodes().front();
  EXPECT_EQ(leaf.samples, 9U);
  EXPECT_EQ(leaf.untried, 2U);
  EXPECT_DOUBLE_EQ(leaf.slow_down, 1);
  const std::string score = "9 problems, 2 of which never tried it; 1.000 of the best time in the others";
  EXPECT_EQ(score_of_leaf(leaf), score);
  EXPECT_THAT(text_of(predictor), HasSubstr(score));
  for (const TreeLanguage language : {TreeLanguage::c, TreeLanguage::cpp})
    EXPECT_THAT(source_of(predictor, language), HasSubstr(score));
  const Predictor again = predictor_of(json_of(predictor), "tree.json");
  EXPECT_EQ(again.tree.nodes().front().untried, 2U);
  // A file of before it was counted.
  nlohmann::json old = nlohmann::json::parse(json_of(predictor));
  old["nodes"][0].erase("untried");
  EXPECT_EQ(predictor_of(old.dump(), "tree.json").tree.nodes().front().untried, 0U);
  DecisionTree::Node never;
  never.samples = never.untried = 3;
  EXPECT_EQ(score_of_leaf(never), "3 problems, none of which tried it");
}

TEST(Predictor, empty_ones_answer_with_the_line_that_asked) {
  const auto refusal = [](auto call) {
    try {
      call();
    } catch (const UserError& error) {
      EXPECT_FALSE(error.report().accepted.empty());
      return error.report().where;
    }
    return std::string("no error");
  };
  const Predictor untrained;
  const TimingTable nothing;
  const std::string here = "predictor_test.cpp:";
  EXPECT_THAT(refusal([&] { untrained.ranking({}); }), HasSubstr(here));
  EXPECT_THAT(refusal([&] { text_of(untrained); }), HasSubstr(here));
  EXPECT_THAT(refusal([&] { source_of(untrained, TreeLanguage::c); }), HasSubstr(here));
  EXPECT_THAT(refusal([&] { make_predictor(nothing, {}, {}); }), HasSubstr(here));
  EXPECT_THAT(refusal([&] { make_predictor(partly_tried(), {0, 1}, {}); }), HasSubstr(here));
  EXPECT_THAT(refusal([&] { predictor_of("", "t.json"); }), HasSubstr(here));
  EXPECT_EQ(refusal([&] { DecisionTree().predict(std::vector<double>(feature_count)); }), "DecisionTree");
  EXPECT_EQ(refusal([&] { fit_tree({}, {}); }), "TrainingSet");
}

TEST(Predictor, every_broken_field_is_told_with_its_place) {
  const nlohmann::json good = nlohmann::json::parse(json_of(made_predictor({.max_height = 1})));
  const auto refusal = [](const std::string& text) {
    try {
      predictor_of(text, "t.json");
    } catch (const UserError& error) {
      EXPECT_THAT(error.what(), testing::Not(HasSubstr("json.exception")));
      EXPECT_FALSE(error.report().found.empty());
      EXPECT_FALSE(error.report().accepted.empty());
      return error.report().where;
    }
    return std::string("accepted");
  };
  for (const char* text : {"", "{}", "null", "4.7", "[]", "{", "\"tree\""})
    EXPECT_THAT(refusal(text), HasSubstr("t.json")) << text;
  EXPECT_THAT(refusal(good.dump(1).substr(0, good.dump(1).size() / 2)), HasSubstr("t.json, line "));
  const auto with = [&](const char* pointer, const nlohmann::json& value) {
    nlohmann::json broken = good;
    broken[nlohmann::json::json_pointer(pointer)] = value;
    return refusal(broken.dump());
  };
  EXPECT_THAT(with("/weft_tree", -1), HasSubstr("t.json, weft_tree"));
  EXPECT_THAT(with("/weft_tree", "2"), HasSubstr("t.json, weft_tree"));
  EXPECT_THAT(with("/nodes/0/left", 4.7), HasSubstr("t.json, nodes[0].left"));
  EXPECT_THAT(with("/nodes/0/right", 9223372036854775808U), HasSubstr("t.json, nodes[0].right"));
  EXPECT_THAT(with("/nodes/0/threshold", nullptr), HasSubstr("t.json, nodes[0]"));
  EXPECT_THAT(with("/nodes/1/samples", -1), HasSubstr("t.json, nodes[1].samples"));
  EXPECT_THAT(with("/classes/0/config", 3), HasSubstr("t.json, classes[0].config"));
  EXPECT_THAT(with("/training/targets", {1}), HasSubstr("t.json, training.targets"));
}

TEST(Predictor, refuses_files_that_are_no_trees) {
  const nlohmann::json good = nlohmann::json::parse(json_of(made_predictor({.max_height = 2})));
  const auto refused = [](const std::string& text) {
    try {
      predictor_of(text, "t.json");
    } catch (const UserError& error) {
      EXPECT_THAT(error.what(), HasSubstr("t.json"));
      return true;
    }
    return false;
  };
  EXPECT_FALSE(refused(good.dump()));
  EXPECT_TRUE(refused("{"));
  EXPECT_TRUE(refused("[]"));
  EXPECT_TRUE(refused("{}"));
  for (const char* field : {"classes", "nodes", "training"}) {
    nlohmann::json broken = good;
    broken.erase(field);
    EXPECT_TRUE(refused(broken.dump())) << field;
  }
  nlohmann::json broken = good;
  broken["nodes"][0]["left"] = 0;
  EXPECT_TRUE(refused(broken.dump()));
  broken = good;
  broken["nodes"][0]["feature"] = "colour";
  EXPECT_TRUE(refused(broken.dump()));
  broken = good;
  broken["nodes"].back()["ranking"] = {1000};
  EXPECT_TRUE(refused(broken.dump()));
  broken = good;
  broken["nodes"].back()["ranking"] = nlohmann::json::array();
  EXPECT_TRUE(refused(broken.dump()));
  for (const char* version : {"1", "3"}) {
    broken = good;
    broken["weft_tree"] = nlohmann::json::parse(version);
    EXPECT_TRUE(refused(broken.dump())) << version;
  }
  const auto with = [&](const char* pointer, const nlohmann::json& value) {
    nlohmann::json changed = good;
    changed[nlohmann::json::json_pointer(pointer)] = value;
    return refused(changed.dump());
  };
  EXPECT_TRUE(with("/fits/0/kind", 3));
  EXPECT_TRUE(with("/fits/0/class", 1000));
  EXPECT_TRUE(with("/fits/0/microseconds", {{"luck", 1}}));
  EXPECT_TRUE(with("/fits/0/microseconds", {{"once", -1}}));
  EXPECT_TRUE(with("/fits/0/microseconds", {{"once", "1"}}));
  EXPECT_TRUE(with("/fits/0/microseconds", 3));
  EXPECT_TRUE(with("/kinds/0/least/M", 0));
  EXPECT_TRUE(with("/kinds/0/most", {{"M", 4}}));
  EXPECT_TRUE(with("/kinds", nlohmann::json::array()));
  EXPECT_FALSE(with("/fits", nlohmann::json::array()));
}

TEST(EmittedTree, sizes_are_compared_as_whole_numbers) {
  EXPECT_EQ(largest_size(0), 1);
  EXPECT_EQ(largest_size(6.5), 90);
  EXPECT_EQ(largest_size(-1), -1);
  for (std::int64_t size = 2; size < 4'000'000; size = size * 9 / 8 + 1) {
    const double at = std::log2(static_cast<double>(size));
    EXPECT_EQ(largest_size(at), size);
    EXPECT_EQ(largest_size(std::nextafter(at, 0.0)), size - 1);
  }
}

/// Reads problems from a file, writes what the emitted function chooses, and the nanoseconds of a choice.
constexpr const char* program_end = R"(
#include <stdio.h>
#include <time.h>
int main(int argc, char** argv) {
  static double values[100000][14];
  FILE* in = fopen(argv[1], "rb");
  FILE* out = fopen(argv[2], "wb");
  if (argc != 3 || !in || !out || fread(values, sizeof values, 1, in) != 1) return 1;
  static int chosen[100000];
  struct timespec before, after;
  clock_gettime(CLOCK_MONOTONIC, &before);
  for (int i = 0; i < 100000; ++i) {
    double* v = values[i];
    chosen[i] = CHOOSE;
  }
  clock_gettime(CLOCK_MONOTONIC, &after);
  if (fwrite(chosen, sizeof chosen, 1, out) != 1) return 1;
  printf("%.3f", ((double)(after.tv_sec - before.tv_sec) * 1e9 + (double)(after.tv_nsec - before.tv_nsec)) / 1e5);
  return 0;
}
)";

/// "weft_tree_choose((int64_t)v[0], v[3])": the features that the function asks for.
std::string call_of(const Predictor& predictor, const std::string& name, const std::string& integer) {
  std::vector<bool> used(feature_count);
  if (!predictor.times.fits().empty()) used[0] = used[1] = used[2] = used[4] = used[8] = true;
  for (const DecisionTree::Node& node : predictor.tree.nodes()) {
    if (node.feature < 0) continue;
    const auto feature = static_cast<std::size_t>(node.feature);
    used[feature] = used[feature] || features()[feature].from.empty();
    if (features()[feature].name == "results") used[0] = used[1] = true;
  }
  std::string call;
  for (std::size_t i = 0; i < feature_count; ++i) {
    if (!used[i]) continue;
    const std::string cast = features()[i].is_size ? "(" + integer + ")" : "";
    call += fmt::format("{}{}v[{}]", call.empty() ? "" : ", ", cast, i);
  }
  return fmt::format("{}({})", name, call);
}

/// By fitted times and the tree, and by the tree alone.
class EmittedTreeOf : public testing::TestWithParam<std::tuple<TreeLanguage, bool>> {};

TEST_P(EmittedTreeOf, equals_the_predictor_on_a_hundred_thousand_points_and_is_quick) {
  const auto [language, with_times] = GetParam();
  const bool cpp = language == TreeLanguage::cpp;
  const std::string compiler = cpp ? "c++ -std=c++17" : "cc -std=c99 -D_POSIX_C_SOURCE=199309L";
  if (std::system((compiler + " --version > /dev/null 2>&1").c_str()) != 0) GTEST_SKIP() << "no compiler";
  const TimingTable table = tiled_times(80, 0.03);
  Predictor predictor = with_times ? make_predictor(table, Labelling()(table), {}) : made_predictor();
  if (!with_times) predictor.times = {};
  ASSERT_GT(predictor.tree.height(), 4);
  std::string pattern = testing::TempDir() + "weft_tree_XXXXXX";
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  const std::filesystem::path folder = pattern;
  std::string program = program_end;
  program.replace(
      program.find("CHOOSE"), 6,
      call_of(predictor, cpp ? "weft_tree::choose" : "weft_tree_choose", cpp ? "std::int64_t" : "int64_t"));
  const std::string source = folder / (cpp ? "choose.cpp" : "choose.c");
  std::ofstream(folder / "tree.h") << source_of(predictor, language);
  std::ofstream(source) << "#include \"tree.h\"\n" << program;

  constexpr std::size_t results = feature_count - 1;  // M, the first feature, times N, the second
  ASSERT_EQ(features()[results].name, "results");
  Random random(99);
  std::vector<std::array<double, feature_count>> points(100'000);
  std::vector<FeatureValues> values(points.size());
  // Near thresholds as often as anywhere.
  std::vector<const DecisionTree::Node*> splits;
  for (const DecisionTree::Node& node : predictor.tree.nodes()) {
    if (node.feature >= 0) splits.push_back(&node);
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t f = 0; f < feature_count; ++f) {
      points[i][f] =
          features()[f].is_size ? std::floor(std::exp2(16 * random.uniform())) : 256 * random.uniform();
      if (features()[f].name == "density") points[i][f] = random.uniform();
    }
    const DecisionTree::Node& near = *splits[draw_below(random, splits.size())];
    const auto f = static_cast<std::size_t>(near.feature);
    points[i][f] = features()[f].is_size ? std::max(1.0, static_cast<double>(largest_size(near.threshold)) +
                                                             static_cast<double>(draw_below(random, 3)) - 1)
                   : draw_below(random, 2) == 0 ? near.threshold
                                                : std::nextafter(near.threshold, 1e9);
    if (f == results) {
      points[i][0] = points[i][results];
      points[i][1] = 1;
    }
    points[i][results] = points[i][0] * points[i][1];
    if (with_times) {
      // Three kinds that times were fitted to, and one that they were not.
      points[i][4] = 16 << draw_below(random, 4);
      for (const std::size_t same : {5, 6, 7, 10, 11, 12})
        points[i][same] = predictor.times.kinds()[0].least[same];
    }
    for (std::size_t j = 0; j < feature_count; ++j)
      values[i][j] = features()[j].is_size ? std::log2(points[i][j]) : points[i][j];
  }
  const std::string in = folder / "in", out = folder / "out", binary = folder / "choose",
                    told = folder / "told";
  std::ofstream(in, std::ios::binary)
      .write(reinterpret_cast<const char*>(points.data()),
             static_cast<std::streamsize>(points.size() * sizeof points[0]));
  ASSERT_EQ(std::system((compiler + " -O2 -Wall -Wextra -Werror -o " + binary + " " + source).c_str()), 0);
  ASSERT_EQ(std::system((binary + " " + in + " " + out + " > " + told).c_str()), 0);
  std::vector<int> chosen(points.size());
  std::ifstream(out, std::ios::binary)
      .read(reinterpret_cast<char*>(chosen.data()),
            static_cast<std::streamsize>(chosen.size() * sizeof(int)));
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < points.size(); ++i)
    wrong += chosen[i] != predictor.ranking(values[i]).front() ? 1 : 0;
  EXPECT_EQ(wrong, 0U);
  double nanoseconds = 0;
  std::ifstream(told) >> nanoseconds;
  EXPECT_GT(nanoseconds, 0);
  EXPECT_LT(nanoseconds, 1000);
  RecordProperty("nanoseconds", std::to_string(nanoseconds));
  std::printf("%.1f ns a choice, %zu leaves\n", nanoseconds, predictor.tree.leaves());
  std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Languages, EmittedTreeOf,
                         testing::Combine(testing::Values(TreeLanguage::c, TreeLanguage::cpp),
                                          testing::Bool()),
                         [](const auto& which) {
                           return std::string(std::get<0>(which.param) == TreeLanguage::c ? "c" : "cpp") +
                                  (std::get<1>(which.param) ? "_with_times" : "");
                         });

TEST(EmittedTree, a_tree_without_comparisons_asks_for_nothing) {
  Predictor predictor = made_predictor({.max_height = 0});
  EXPECT_THAT(source_of(predictor, TreeLanguage::cpp),
              HasSubstr("choose(std::int64_t M, std::int64_t N, std::int64_t K, double V, double row_mean)"));
  predictor.times = {};
  EXPECT_THAT(source_of(predictor, TreeLanguage::c), HasSubstr("weft_tree_choose(void)"));
  EXPECT_THAT(source_of(predictor, TreeLanguage::cpp), HasSubstr("choose()"));
}

}  // namespace
}  // namespace weft
