// What tests of the search share: a small problem, and a folder for the databases.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/search/spaces/problems.h>
#include <weft/search/trials/tune.h>

#include <filesystem>
#include <memory>
#include <string>

namespace weft {

inline TrialProblem small_problem(DType dtype = DType::f32) {
  TrialProblem problem;
  problem.what = {spmm_algorithm(32, 48, 16, dtype),
                  std::make_shared<const WeightMatrix>(
                      synthetic_layer({.rows = 32, .columns = 48, .sparsity = 0.8, .dtype = dtype})),
                  formats::csr()};
  problem.tensors["B"] = random_array(dtype, {48, 16}, 2);
  problem.tensors["C"] = Array(dtype, {32, 16});
  problem.columns = 16;
  return problem;
}

class Tuning : public ::testing::Test {
 public:
  Tuning() : folder_(std::filesystem::temp_directory_path() / ("weft_tune_" + std::to_string(getpid()))) {
    std::filesystem::create_directory(folder_);
  }
  ~Tuning() override { std::filesystem::remove_all(folder_); }
  Tuning(const Tuning&) = delete;
  Tuning& operator=(const Tuning&) = delete;

  std::string path(const std::string& name = "t.jsonl") const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

inline TuneOptions options_for(Measure measure) {
  TuneOptions options;
  options.measure.measure = measure;
  options.measure.build_seconds = 20;
  options.measure.run_seconds = 20;
  options.measure.rounds = 3;
  options.trials = 1000;
  return options;
}

}  // namespace weft
