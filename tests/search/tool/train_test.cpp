// The verbs train and predict, as they are called.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <weft/formats/io/read.h>
#include <weft/search/measure/structured_weights.h>
#include <weft/search/model/predictor.h>
#include <weft/search/records/record_file.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "../model/made_times.h"
#include "call_weft.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

namespace fs = std::filesystem;

/// A point of shfl_bw on sm_90a with these two numbers; it fits groups of 64 rows and more.
KnobValues point_of(const KnobValues& few) {
  const std::int64_t columns = few.at("tile_n");
  return {{"tile_m", 64},
          {"tile_n", columns},
          {"tile_k", 32},
          {"instruction", 3},
          {"warp_m", 64},
          {"warp_n", 64},
          {"stages", few.at("stages")},
          {"producers", 4},
          {"groups", 1},
          {"line", 32},
          {"producer_registers", 0},
          {"consumer_registers", 0},
          {"blocks", 132}};
}

class TrainVerb : public ::testing::Test {
 public:
  TrainVerb() : folder_(fs::temp_directory_path() / ("weft_train_" + std::to_string(::getpid()))) {
    fs::create_directory(folder_);
    const TimingTable table = made_times(25, 0.02, 17);
    RecordFile file(path("t.jsonl"), RecordFile::Mode::append);
    for (const TimingTable::Problem& problem : table.problems) {
      for (std::size_t c = 0; c < table.configurations.size(); ++c) file.append(record(table, problem, c));
    }
  }
  ~TrainVerb() override { fs::remove_all(folder_); }
  TrainVerb(const TrainVerb&) = delete;
  TrainVerb& operator=(const TrainVerb&) = delete;

  static Record record(const TimingTable& table, const TimingTable::Problem& problem, std::size_t c) {
    Record record;
    record.kernel = "spmm";
    record.recipe = "shfl_bw";
    record.config = point_of(table.configurations[c].point);
    record.problem.sizes = {{"M", problem.summary.m}, {"K", problem.summary.k}, {"N", problem.summary.n}};
    record.problem.words = {{"dtype", "f16"}};
    record.pattern.kind = "shfl_bw:V=" + std::to_string(problem.summary.group_rows);
    record.pattern.group = problem.summary.group_rows;
    record.pattern.stored = problem.summary.stored;
    record.pattern.hash = problem.matrix;
    record.pattern.row_mean = problem.summary.row_mean;
    record.target = {"sm_90a", "NVIDIA H200", 132, 232448};
    record.measure = "gpu";
    const double time = problem.microseconds[c];
    record.microseconds = TrialTime{time, time, time, 3};
    if (c == 0) record.strategy = "recipe";
    return record;
  }

  void make_weights(std::int64_t rows = 256, std::int64_t columns = 128) {
    const ShflBwWeights made =
        shfl_bw_weights({.rows = rows, .columns = columns, .sparsity = 0.75, .group_rows = 64});
    write_npy(path("w.npy"), to_dense(made.matrix));
  }

  std::string path(const char* name) const { return (folder_ / name).string(); }
  std::string text_of_file(const char* name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path folder_;
};

TEST_F(TrainVerb, prints_the_models_side_by_side_and_writes_the_tree) {
  const VerbAnswer answer =
      call_weft({"train", "--db", path("t.jsonl"), "--emit", "c,cpp", "-o", path("tree.json")});
  ASSERT_EQ(answer.code, 0) << answer.errors;
  EXPECT_THAT(answer.out,
              AllOf(HasSubstr("75 problems of 25 matrices, 12 configurations"),
                    HasSubstr("decision tree   normalised"), HasSubstr("decision tree   raw"),
                    HasSubstr("fitted times    normalised"), HasSubstr("Spearman"),
                    HasSubstr("analytic bound"), HasSubstr("best single"), HasSubstr("recipe's choice"),
                    HasSubstr("problems known"), HasSubstr("of the best time")));
  const Predictor predictor = predictor_of(text_of_file("tree.json"), "tree.json");
  EXPECT_EQ(predictor.training.problems, 75U);
  EXPECT_GT(predictor.training.mean, 0.8);
  EXPECT_EQ(text_of_file("tree.h"), source_of(predictor, TreeLanguage::c));
  EXPECT_EQ(text_of_file("tree.hpp"), source_of(predictor, TreeLanguage::cpp));
}

TEST_F(TrainVerb, heights_and_leaves_are_kept_and_json_is_one_document) {
  const VerbAnswer answer =
      call_weft({"train", "--db", path("t.jsonl"), "--max-height", "2", "--min-leaf", "4", "--json"});
  ASSERT_EQ(answer.code, 0) << answer.errors;
  const nlohmann::json json = nlohmann::json::parse(answer.out);
  EXPECT_EQ(json.at("models").at(0).at("max_height"), 2);
  EXPECT_EQ(json.at("models").at(0).at("min_leaf"), 4);
  EXPECT_LE(predictor_of(json.at("tree").dump(), "").tree.height(), 2);
  EXPECT_GT(json.at("importance").at("N"), 0);
  EXPECT_GT(json.at("nanoseconds").at("tree"), 0);
  EXPECT_LT(json.at("nanoseconds").at("tree"), 1000);
  EXPECT_FALSE(json.at("learning_curve").empty());
}

TEST_F(TrainVerb, refuses_what_it_cannot_learn_from) {
  EXPECT_EQ(call_weft({"train"}).code, 2);
  EXPECT_EQ(call_weft({"train", "--db", path("nothing.jsonl")}).code, 2);
  EXPECT_EQ(call_weft({"train", "--db", path("t.jsonl"), "--max-height", "tall"}).code, 2);
  EXPECT_EQ(call_weft({"train", "--db", path("t.jsonl"), "--emit", "c"}).code, 2);
  const VerbAnswer answer = call_weft({"train", "--db", path("t.jsonl"), "--measure", "model"});
  EXPECT_EQ(answer.code, 2);
  EXPECT_THAT(answer.errors, HasSubstr("no right trial measured by model"));
}

TEST_F(TrainVerb, predict_answers_with_a_recipe_that_fits) {
  ASSERT_EQ(call_weft({"train", "--db", path("t.jsonl"), "-o", path("tree.json")}).code, 0);
  make_weights();
  for (const char* n : {"8", "196", "1024"}) {
    const VerbAnswer answer = call_weft({"predict", "--tree", path("tree.json"), "--weights", path("w.npy"),
                                         "--format", "shfl_bw:V=64", "--n", n, "--json"});
    ASSERT_EQ(answer.code, 0) << answer.errors;
    const nlohmann::json json = nlohmann::json::parse(answer.out);
    EXPECT_EQ(json.at("from"), "times");
    EXPECT_GT(json.at("fitted_us"), 1);
    EXPECT_EQ(json.at("config").at("tile_m"), 64);
    EXPECT_LT(json.at("decision_ns"), 20'000);
    EXPECT_GT(json.at("bound_us"), 0);
    // What it prints is what other verbs take.
    const VerbAnswer made =
        call_weft({"compile", "--weights", path("w.npy"), "--format", "shfl_bw:V=64", "--n", n, "--recipe",
                   json.at("recipe"), "--target", "sm_90a", "-o", path("kernel")});
    EXPECT_EQ(made.code, 0) << made.errors;
  }
}

TEST_F(TrainVerb, predict_asks_the_predictor_that_ships) {
  make_weights();
  const VerbAnswer answer =
      call_weft({"predict", "--weights", path("w.npy"), "--format", "shfl_bw:V=64", "--n", "512", "--json"});
  ASSERT_EQ(answer.code, 0) << answer.errors;
  const nlohmann::json json = nlohmann::json::parse(answer.out);
  EXPECT_EQ(json.at("target"), "sm_90a");
  EXPECT_EQ(json.at("from"), "times");
}

TEST_F(TrainVerb, predict_answers_for_a_cpu_with_a_recipe_that_runs_there) {
  make_weights();
  const VerbAnswer answer = call_weft({"predict", "--weights", path("w.npy"), "--format", "shfl_bw:V=64",
                                       "--n", "8", "--target", "cpu", "--json"});
  ASSERT_EQ(answer.code, 0) << answer.errors;
  const VerbAnswer made =
      call_weft({"verify", "--weights", path("w.npy"), "--format", "shfl_bw:V=64", "--n", "8", "--recipe",
                 nlohmann::json::parse(answer.out).at("recipe"), "--device", "cpu"});
  EXPECT_EQ(made.code, 0) << made.errors;
}

TEST_F(TrainVerb, predict_asks_for_the_format_that_would_be_chosen) {
  ASSERT_EQ(call_weft({"train", "--db", path("t.jsonl"), "-o", path("tree.json")}).code, 0);
  make_weights(512, 512);
  const VerbAnswer answer =
      call_weft({"predict", "--tree", path("tree.json"), "--weights", path("w.npy"), "--n", "512", "--json"});
  ASSERT_EQ(answer.code, 0) << answer.errors;
  const nlohmann::json json = nlohmann::json::parse(answer.out);
  EXPECT_EQ(json.at("format"), "shfl_bw:V=64");
}

TEST_F(TrainVerb, predict_falls_back_where_no_configuration_fits) {
  ASSERT_EQ(call_weft({"train", "--db", path("t.jsonl"), "-o", path("tree.json")}).code, 0);
  make_weights();
  const VerbAnswer older = call_weft({"predict", "--tree", path("tree.json"), "--weights", path("w.npy"),
                                      "--format", "shfl_bw:V=64", "--n", "100", "--target", "sm_75"});
  EXPECT_EQ(older.code, 0) << older.errors;
  EXPECT_THAT(older.out, HasSubstr("shfl_bw\n"));
  EXPECT_THAT(older.errors, AllOf(HasSubstr("passed over"), HasSubstr("has not seen sm_75"),
                                  HasSubstr("what the recipe chooses for itself")));
  const VerbAnswer other = call_weft({"predict", "--tree", path("tree.json"), "--weights", path("w.npy"),
                                      "--dtype", "f32", "--n", "100", "--json"});
  EXPECT_EQ(other.code, 0) << other.errors;
  const nlohmann::json json = nlohmann::json::parse(other.out);
  EXPECT_EQ(json.at("from"), "default");
  EXPECT_EQ(json.at("recipe"), "sparsert");
  EXPECT_EQ(json.at("format"), "csr");
  const VerbAnswer processor = call_weft(
      {"predict", "--tree", path("tree.json"), "--weights", path("w.npy"), "--n", "10", "--target", "cpu"});
  EXPECT_EQ(processor.code, 0) << processor.errors;
}

TEST_F(TrainVerb, report_writes_a_page) {
  const VerbAnswer answer = call_weft({"report", "--db", path("t.jsonl"), "-o", path("r.html")});
  ASSERT_EQ(answer.code, 0) << answer.errors;
  const std::string page = text_of_file("r.html");
  EXPECT_THAT(page, AllOf(HasSubstr("900 trials of 75 problems"), HasSubstr("<svg"),
                          HasSubstr("do not say where the weights are")));
  EXPECT_LT(page.size(), 2'000'000U);
  EXPECT_EQ(call_weft({"report", "--db", path("none.jsonl")}).code, 2);
  EXPECT_EQ(call_weft({"report", "--db", path("t.jsonl"), "-o", path("no/such/folder.html")}).code, 2);
}

}  // namespace
}  // namespace weft
