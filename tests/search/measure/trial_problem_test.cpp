// What records say of a problem, and the check of its outputs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/search/measure/trial_problem.h>
#include <weft/search/spaces/problems.h>

#include <cstring>

namespace weft {
namespace {

TrialProblem problem_of(const Epilogue& epilogue, std::uint64_t seed = 1) {
  TrialProblem problem;
  const WeightMatrix matrix = synthetic_layer({.rows = 24, .columns = 40, .sparsity = 0.7, .seed = seed});
  problem.what = {spmm_algorithm(24, 40, 8, DType::f32, epilogue),
                  std::make_shared<const WeightMatrix>(matrix), formats::csr()};
  problem.tensors["B"] = random_array(DType::f32, {40, 8}, 2);
  problem.tensors["C"] = Array(DType::f32, {24, 8});
  if (epilogue.bias) problem.tensors["bias"] = random_array(DType::f32, {24}, 3);
  problem.columns = 8;
  return problem;
}

Array product(TrialProblem& problem) {
  const SparseTensor weights = pack(*problem.what.matrix, formats::csr());
  return reference(problem.what.algorithm, &weights, problem.arguments()).value.converted(DType::f32);
}

TEST(TrialProblems, RightOutputsPassAndWrongOnesSayWhy) {
  for (const bool bias : {false, true}) {
    TrialProblem problem = problem_of({.bias = bias});
    EXPECT_EQ(problem.workload().has_value(), !bias);
    const OutputCheck check(problem, 1e9);
    Array output = product(problem);
    EXPECT_EQ(check.check(output).reason, "");
    EXPECT_EQ(check.check(output).check.rows, 24);
    output.set(17, 1 + 1.01 * output.get(17));
    EXPECT_NE(check.check(output).reason, "");
  }
}

/// Of a large layer with a bias a row and a column of every few are compared with f64.
TEST(TrialProblems, LargeLayersAreSeenAtSomeOutputs) {
  constexpr std::int64_t rows = 70, columns = 37;
  for (const ProductLayout layout :
       {ProductLayout::kn, ProductLayout::nk, ProductLayout::nk_mn, ProductLayout::kn_nm}) {
    const bool of_rows = layout == ProductLayout::nk || layout == ProductLayout::nk_mn;
    const bool across = layout == ProductLayout::nk || layout == ProductLayout::kn_nm;
    TrialProblem problem;
    const WeightMatrix matrix = synthetic_layer({.rows = rows, .columns = 40, .sparsity = 0.7});
    problem.what = {
        spmm_algorithm(rows, 40, columns, DType::f32, {.bias = true, .activation = Activation::relu}, layout),
        std::make_shared<const WeightMatrix>(matrix), formats::csr()};
    problem.tensors["B"] =
        random_array(DType::f32, of_rows ? std::vector{columns, 40L} : std::vector{40L, columns}, 2);
    problem.tensors["C"] =
        Array(DType::f32, across ? std::vector{columns, rows} : std::vector{rows, columns});
    problem.tensors["bias"] = random_array(DType::f32, {rows}, 3);
    problem.columns = columns;
    const OutputCheck check(problem, 1);
    Array output = product(problem);
    EXPECT_EQ(check.check(output).reason, "");
    EXPECT_EQ(check.check(output).check.rows, 5);
    const auto place = [&](std::int64_t row, std::int64_t column) {
      return across ? column * rows + row : row * columns + column;
    };
    // The second of the rows is the second of its sixteen, and of the columns.
    Array wrong = output;
    wrong.set(place(16 + 1, 16 + 1), 7);
    EXPECT_NE(check.check(wrong).reason, "");
    Array left = output;
    const std::uint32_t bits = 0xFFFFFFFF;
    std::memcpy(left.data() + 4 * place(3, 2), &bits, sizeof bits);
    EXPECT_THAT(check.check(left).reason, testing::HasSubstr("was not written"));
  }
}

TEST(TrialProblems, WhatFollowsASumLeavesAProductForLibraries) {
  const TrialProblem layer = problem_of({.bias = true, .activation = Activation::relu});
  const auto alone = layer.product();
  ASSERT_TRUE(alone.has_value());
  EXPECT_EQ(alone->algorithm.text(), problem_of({}).what.algorithm.text());
  EXPECT_EQ(alone->matrix.column, layer.what.matrix->column);
  EXPECT_EQ(alone->problem.n, 8);
  // B in another order, or of more dimensions, is no operand that a library's product takes as it lies.
  TrialProblem other = problem_of({.bias = true});
  other.tensors["B"] = random_array(DType::f32, {8, 40}, 2);
  EXPECT_FALSE(other.product().has_value());
  other.what.algorithm = convolution_algorithm({.channels = 40, .filters = 24, .image = {2, 4}}, DType::f32);
  EXPECT_FALSE(other.product().has_value());
}

TEST(TrialProblems, OnceTrustedTheWholeOutputCounts) {
  TrialProblem problem = problem_of({});
  OutputCheck check(problem, 1);  // eight rows of 24 are compared with f64
  Array output = product(problem);
  EXPECT_TRUE(check.wants_trusted());
  Array wrong = output;
  for (std::int64_t i = 8; i < 16; ++i) wrong.set(i, 5 + wrong.get(i));  // row 1 is not in the sample
  EXPECT_EQ(check.check(wrong).reason, "");
  check.trust(output);
  EXPECT_FALSE(check.wants_trusted());
  EXPECT_NE(check.check(wrong).reason, "");
  EXPECT_TRUE(check.check(output).check.against_trusted);
}

TEST(TrialProblems, RecordsNameTheProblem) {
  const TrialProblem problem = problem_of({});
  const Record record = record_for(problem, target_named("sm_90a"), "model", nullptr);
  EXPECT_EQ(record.problem.sizes.at("M"), 24);
  EXPECT_EQ(record.problem.sizes.at("K"), 40);
  EXPECT_EQ(record.problem.sizes.at("N"), 8);
  EXPECT_EQ(record.problem.words.at("dtype"), "f32");
  EXPECT_EQ(record.pattern.stored, 288);
  EXPECT_DOUBLE_EQ(record.pattern.row_mean, 12);
  EXPECT_GT(record.pattern.row_variation, 0.1);
  EXPECT_EQ(record.target.name, "sm_90a");
  // Positions make the hash, values do not.
  EXPECT_EQ(hash_of_pattern(*problem.what.matrix),
            hash_of_pattern(with_random_values(*problem.what.matrix, DType::f16, 9)));
  EXPECT_NE(hash_of_pattern(*problem.what.matrix), hash_of_pattern(*problem_of({}, 2).what.matrix));
  EXPECT_NE(record_for(problem_of({.bias = true}), target_named("sm_90a"), "model", nullptr).problem_key(),
            record.problem_key());
}

TEST(TrialProblems, HashesAreStable) {
  EXPECT_EQ(hash_of(""), "xxh3:2d06800538d394c2");
}

}  // namespace
}  // namespace weft
