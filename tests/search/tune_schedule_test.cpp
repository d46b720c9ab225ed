// The search of a schedule that has knobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/runtime/process.h>
#include <weft/dsl/assignment.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/index.h>
#include <weft/formats/synthetic.h>
#include <weft/search/spaces/problems.h>
#include <weft/search/trials/best_file.h>
#include <weft/search/trials/tune_schedule.h>

namespace weft {
namespace {

using ::testing::HasSubstr;

WEFT_INDEX(m);
WEFT_INDEX(n);

/// Rows of a thread of the CPU, or of a block.
Schedule with_rows(const char* target, std::vector<std::int64_t> rows, const Format& format = formats::csr(),
                   std::int64_t width = 48) {
  const WeightMatrix matrix = synthetic_layer({.rows = 64, .columns = 32, .sparsity = 0.8});
  Schedule s =
      schedule(spmm_algorithm(64, 32, width, DType::f32), pack(matrix, format), target_named(target));
  s.split(LoopFactor{m, knob("rows", std::move(rows))});
  return s;
}

std::string said(const std::function<void()>& call) {
  try {
    call();
  } catch (const UserError& error) {
    EXPECT_THAT(error.report().where, HasSubstr("tune"));
    return error.what();
  }
  return "no error";
}

TEST(TuneASchedule, FindsTheBestAndGoesOnWhereItWas) {
  const TemporaryFolder folder;
  const std::string database = (folder.path() / "t.jsonl").string();
  Schedule s = with_rows("cpu", {2, 8, 32});
  s.parallel(m.outer);
  TuneOptions options;
  options.measure.rounds = 2;
  options.trials = 2;
  const Tuned some = tune(s, "cpu", options, database);
  EXPECT_EQ(some.result.status.trials, 2);
  options.trials = 10;
  const Tuned all = tune(s, "cpu", options, database);
  EXPECT_EQ(all.result.status.trials, 3);
  EXPECT_EQ(all.result.status.resumed, 2);
  EXPECT_TRUE(all.schedule.program().knobs.empty());
  const std::int64_t rows = all.result.best->config.at("rows");
  EXPECT_THAT(all.schedule.cpp(), HasSubstr("m = " + std::to_string(rows)));
  EXPECT_THAT(all.verdict, HasSubstr("fastest: rows=" + std::to_string(rows) + " in csr, "));
  const BestKernel best = best_kernel_of(json_of_best(*all.result.best, all.schedule), "best");
  EXPECT_EQ(best.steps.size(), all.schedule.steps().size());
  // Another schedule with a knob of that name and these values has trials of its own.
  const Schedule other = with_rows("cpu", {2, 8, 32});
  const Tuned of_other = tune(other, "cpu", options, database);
  EXPECT_EQ(of_other.result.status.resumed, 0);
  EXPECT_EQ(of_other.result.status.trials, 3);
  EXPECT_NE(of_other.result.best->recipe, all.result.best->recipe);
}

TEST(TuneASchedule, WhatDoesNotFitIsNotTried) {
  Schedule s = with_rows("sm_80", {8}, formats::dense(), 4096);
  s.split(LoopFactor{n, knob("columns", {64, 2048})})
      .bind(m.outer, block_y)
      .bind(n.outer, block_x)
      .bind(n.inner, thread);
  const Tuned found = tune(s, "sim:sm_80");
  EXPECT_EQ(found.result.points, 1U) << "a block has 1024 threads at most";
  EXPECT_EQ(found.result.best->config.at("columns"), 64);
  EXPECT_EQ(found.result.best->measure, "sim");
  EXPECT_EQ(found.result.best->pattern.kind, "dense");
}

TEST(TuneASchedule, RefusalsSayWhatThereIs) {
  const Schedule s = with_rows("cpu", {2, 8});
  EXPECT_THAT(said([&] { tune(s, "gpu"); }), HasSubstr("accepted: cpu"));
  EXPECT_THAT(said([&] { tune(s, "cuda:x"); }), HasSubstr("'cuda:x'"));
  EXPECT_THAT(said([&] { tune(with_rows("sm_80", {2, 8}), "sim:sm_90a"); }), HasSubstr("sim:sm_80, cuda"));
}

TEST(TuneASchedule, AsAProgramItWritesTheBestFile) {
  const TemporaryFolder folder;
  const std::string best = (folder.path() / "best.json").string();
  const char* target = nullptr;  // that of all schedules, or nothing
  const auto make = [&](const Target& asked) {
    return with_rows(target == nullptr ? asked.name.c_str() : target, {2, 8});
  };
  const auto call = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "search");
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    return search_program(static_cast<int>(arguments.size()), arguments.data(), make);
  };
  EXPECT_EQ(call({"--out", best, "--trials", "1"}), 0);
  EXPECT_EQ(best_kernel_of(read_bytes(best), best).record.measure, "cpu");
  EXPECT_EQ(call({"--trials", "1"}), 2) << "no file to write";
  EXPECT_EQ(call({"--out", best, "--trials", "many"}), 2);
  EXPECT_EQ(call({"--out"}), 2);
  EXPECT_EQ(call({"--out", best, "--device", "abacus"}), 2);
  EXPECT_EQ(call({"--out", best, "--target", "sm_80", "--device", "cpu"}), 2);
  target = "sm_80";
  EXPECT_EQ(call({"--out", best, "--target", "sm_90", "--device", "sim:sm_80"}), 2) << "for another target";
}

TEST(TuneASchedule, TakesSizesFromTheWeightsAndArraysFromStrides) {
  WEFT_INDEX(k);
  const WeightMatrix matrix = synthetic_layer({.rows = 64, .columns = 32, .sparsity = 0.8});
  const Extent rows = Extent::any("M"), inner = Extent::any("K"), columns = Extent::any("N", 48);
  const Tensor<f32, 2, sparse> A("A", {rows, inner});
  const Tensor<f32, 2> B("B", {inner, columns}), C("C", {rows, columns});
  const Tensor<f32, 2, sparse> A_known("A", {64, 32});
  const Tensor<f32, 2> B_wide = Tensor<f32, 2>("B", {32, 40}).strided({64, 1}), C_known("C", {64, 40});
  for (const Algorithm& product :
       {algorithm("product", C(m, n) = sum(k, A(m, k) * B(k, n))),
        algorithm("product", C_known(m, n) = sum(k, A_known(m, k) * B_wide(k, n)))}) {
    Schedule s = schedule(product, pack(matrix, formats::csr()), target_named("cpu"));
    s.split(LoopFactor{n, knob("width", {8, 16})});
    TuneOptions options;
    options.measure.rounds = 2;
    options.trials = 1;
    EXPECT_EQ(tune(s, "cpu", options).result.status.trials, 1);
  }
}

}  // namespace
}  // namespace weft
