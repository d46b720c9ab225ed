// What pruning keeps, by definition and against brute force.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/formats/random.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "choose_weights.h"
#include "formats/generated_matrices.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Prune, SingleWeightsAreTheGreatest) {
  const WeightMatrix weights = trained_like(37, 53);
  for (const double sparsity : {0.0, 0.3, 0.5, 0.75, 0.9, 0.98, 0.9999}) {
    SCOPED_TRACE(sparsity);
    const Pruning found = choose(weights, csr, sparsity);
    EXPECT_EQ(found.kept(), std::llround((1 - sparsity) * 37 * 53));
    const std::vector<bool> kept_at = places(weights, found);
    EXPECT_EQ(std::ranges::count(kept_at, true), found.kept());
    EXPECT_TRUE(found.row_order.empty());
    double least_kept = std::numeric_limits<double>::infinity();
    double most_dropped = 0;
    for (std::int64_t i = 0; i < weights.stored(); ++i) {
      const double score = std::abs(weights.values.get(i));
      if (kept_at[static_cast<std::size_t>(i)]) {
        least_kept = std::min(least_kept, score);
      } else {
        most_dropped = std::max(most_dropped, score);
      }
    }
    EXPECT_GE(least_kept, most_dropped);
    expect_consistent(weights, found, sparsity);
  }
}

TEST(Prune, OfEqualWeightsTheFirstStay) {
  Array ones(DType::f32, {4, 8});
  for (std::int64_t i = 0; i < 32; ++i) ones.set(i, 1);
  const WeightMatrix weights = from_dense(ones, "ones");
  const Pruning found = choose(weights, csr, 0.75);
  const std::vector<bool> kept_at = places(weights, found);
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(kept_at[i], i < 8) << i;
  EXPECT_DOUBLE_EQ(found.kept_score, 0.25);
}

TEST(Prune, ColumnsOfGroupsAreTheGreatest) {
  const WeightMatrix weights = trained_like(64, 40);
  for (const std::int64_t v : {8, 16, 32, 64}) {
    const Pruning found = choose(weights, vector_wise(v), 0.7);
    EXPECT_EQ(found.kept(), 768 / v * v);
    expect_whole_vectors(weights, found, as_given(64), v);
    std::vector<double> sums;
    for (std::int64_t first = 0; first < 64; first += v) {
      for (std::int64_t column = 0; column < 40; ++column) {
        sums.push_back(0);
        for (std::int64_t row = first; row < first + v; ++row)
          sums.back() += std::abs(weights.values.get(row * 40 + column));
      }
    }
    const double total = std::accumulate(sums.begin(), sums.end(), 0.0);
    std::ranges::sort(sums, std::greater<>());
    EXPECT_NEAR(found.kept_score, std::accumulate(sums.begin(), sums.begin() + 768 / v, 0.0) / total, 1e-6);
  }
}

TEST(Prune, BlocksAreTheGreatest) {
  const WeightMatrix weights = trained_like(64, 48);
  for (const std::string name : {"bcsr", "blocked_ell"}) {
    for (const std::int64_t b : {8, 16}) {
      const Pruning found = choose(weights, {name, {{"b", b}}}, 0.75);
      EXPECT_EQ(found.kept(), 768);
      std::vector<double> sums(static_cast<std::size_t>(64 / b * (48 / b)));
      std::vector<std::int64_t> kept(sums.size());
      const std::vector<bool> kept_at = places(weights, found);
      for (std::int64_t i = 0; i < 64 * 48; ++i) {
        const auto block = static_cast<std::size_t>(i / 48 / b * (48 / b) + i % 48 / b);
        sums[block] += std::abs(weights.values.get(i));
        kept[block] += kept_at[static_cast<std::size_t>(i)] ? 1 : 0;
      }
      for (const std::int64_t count : kept) EXPECT_TRUE(count == 0 || count == b * b);
      const double total = std::accumulate(sums.begin(), sums.end(), 0.0);
      std::ranges::sort(sums, std::greater<>());
      EXPECT_NEAR(found.kept_score, std::accumulate(sums.begin(), sums.begin() + 768 / b / b, 0.0) / total,
                  1e-6);
    }
  }
}

TEST(Prune, WhatIsWorthNothingIsNotKept) {
  Array dense(DType::f32, {64, 8});
  for (std::int64_t row = 0; row < 16; ++row) dense.set(row * 8 + 3, 1);
  const WeightMatrix weights = from_dense(dense, "one column");
  EXPECT_EQ(choose(weights, vector_wise(16), 0.5).kept(), 16);
  EXPECT_EQ(choose(weights, bcsr(8), 0.5).kept(), 128);
}

TEST(Prune, GivenScoresDecide) {
  const WeightMatrix weights = trained_like(64, 64, 1);
  const WeightMatrix signed_scores = trained_like(64, 64, 2);
  Array dense = to_dense(signed_scores);
  for (std::int64_t i = 0; i < dense.size(); ++i) dense.set(i, std::abs(dense.get(i)));
  const WeightMatrix scores = from_dense(dense, "scores");
  for (const Format& format : {csr, bcsr(8), vector_wise(16), shfl_bw(16), v_n_m(16, 8)}) {
    SCOPED_TRACE(format.text());
    const Pruning found = choose_weights(weights, format, {.sparsity = 0.75, .scores = &scores});
    EXPECT_EQ(found.column, choose(scores, format, 0.75).column);
    EXPECT_NE(found.column, choose(weights, format, 0.75).column);
  }
  // Only weights are worth anything, and a weight that the scores do not list is worth nothing.
  const WeightMatrix sparse = pruned(weights, choose(weights, csr, 0.5));
  const WeightMatrix few = pruned(scores, choose(scores, csr, 0.5));
  const Pruning found = choose_weights(sparse, csr, {.sparsity = 0.9, .scores = &few});
  EXPECT_EQ(found.kept(), 410);
  const Array listed = to_dense(few);
  const WeightMatrix left = pruned(sparse, found);
  for (std::int64_t row = 0; row < 64; ++row) {
    for (auto i = left.row_begin[static_cast<std::size_t>(row)];
         i < left.row_begin[static_cast<std::size_t>(row) + 1]; ++i)
      EXPECT_GT(listed.get(row * 64 + left.column[static_cast<std::size_t>(i)]), 0);
  }
}

TEST(Prune, FiltersKeepTheirShape) {
  Array dense = to_dense(trained_like(48, 12 * 9, 3, DType::f16)).reshaped({48, 12, 3, 3});
  const WeightMatrix filter = from_dense(dense, "filter");
  const WeightMatrix flat = from_dense(std::move(dense).reshaped({48, 108}), "filter");
  const Pruning found = choose(filter, shfl_bw(16), 0.75);
  EXPECT_EQ(found.column, choose(flat, shfl_bw(16), 0.75).column);
  const WeightMatrix left = pruned(filter, found);
  EXPECT_EQ(left.shape, (std::vector<std::int64_t>{48, 12, 3, 3}));
  EXPECT_EQ(left.values.dtype(), DType::f16);
  EXPECT_EQ(left.origin, "filter");
  EXPECT_EQ(left.stored(), found.kept());
  left.check();
}

TEST(Prune, WeightsThatStayKeepTheirBits) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i8}) {
    const WeightMatrix weights = random_matrix(50, 40, 0.6, 4, dtype);
    for (const Format& format : {csr, bcsr(8), vector_wise(8), shfl_bw(8), v_n_m(8, 10)}) {
      const Pruning found = choose(weights, format, 0.8);
      const WeightMatrix left = pruned(weights, found);
      left.check();
      const Array before = to_dense(weights);
      const Array after = to_dense(left);
      std::int64_t differ = 0;
      for (std::int64_t i = 0; i < before.size(); ++i) {
        if (after.is_zero_bits(i)) continue;
        EXPECT_EQ(before.get(i), after.get(i));
        ++differ;
      }
      EXPECT_GT(differ, 0);
      EXPECT_EQ(left.stored(), found.kept());
    }
  }
}

TEST(Prune, SmallAndEmptyMatrices) {
  for (const auto& [name, weights] : generated_matrices()) {
    SCOPED_TRACE(name);
    for (const Format& format : {csr, bcsr(8), vector_wise(8), shfl_bw(8)}) {
      if (format.name != "csr" && weights.rows * weights.columns > (std::int64_t{1} << 32)) continue;
      const Pruning found = choose(weights, format, 0.5);
      EXPECT_EQ(std::ssize(found.row_begin), weights.rows + 1);
      EXPECT_GE(found.kept_score, 0);
      EXPECT_LE(found.kept_score, 1);
      pruned(weights, found).check();
    }
  }
  const WeightMatrix one_column = trained_like(64, 1);
  const Pruning found = choose(one_column, shfl_bw(16), 0.75);
  EXPECT_EQ(found.kept(), 16);
  // With one column the best group is the sixteen largest weights.
  EXPECT_NEAR(found.kept_score, choose(one_column, csr, 0.75).kept_score, 1e-6);
  const WeightMatrix zeros = from_dense(Array(DType::f32, {64, 32}), "zeros");
  const Pruning none = choose(zeros, shfl_bw(8), 0.75);
  EXPECT_EQ(none.kept_score, 1);
  EXPECT_EQ(none.row_order.size(), 64U);
  EXPECT_EQ(pruned(zeros, none).stored(), 0);
}

TEST(Prune, ScoresOfEveryMagnitude) {
  Array dense(DType::f64, {64, 16});
  Random random(8);
  for (std::int64_t i = 0; i < dense.size(); ++i) dense.set(i, 1e300 * (0.5 + random.uniform()));
  const Pruning found = choose(from_dense(dense, "huge"), shfl_bw(8), 0.5);
  EXPECT_GT(found.kept_score, 0.5);
  EXPECT_LT(found.kept_score, 0.7);
}

TEST(Prune, RefusesWhatItCannotPrune) {
  const WeightMatrix weights = trained_like(16, 16);
  const auto refusal = [&](const Format& format, double sparsity) {
    return message_of([&] { choose(weights, format, sparsity); });
  };
  EXPECT_THAT(refusal(csr, 1), AllOf(HasSubstr("sparsity"), HasSubstr("below 1")));
  EXPECT_THAT(refusal(csr, -0.1), HasSubstr("at least 0"));
  EXPECT_THAT(refusal(csr, std::nan("")), HasSubstr("nan"));
  EXPECT_THAT(refusal({"dense", {}}, 0.5), AllOf(HasSubstr("dense"), HasSubstr("shfl_bw:V=32")));
  EXPECT_THAT(refusal(shfl_bw(0), 0.5), AllOf(HasSubstr("shfl_bw:V=0"), HasSubstr("from 1")));
  EXPECT_THAT(refusal(bcsr(-4), 0.5), HasSubstr("b=-4"));
  for (const std::int64_t m : {3, 0, -4, 257})
    EXPECT_THAT(refusal(v_n_m(64, m), 0.5), AllOf(HasSubstr("M=" + std::to_string(m)), HasSubstr("from 4")));
  EXPECT_THAT(refusal({"n_m", {{"M", 8}}}, 0.5), AllOf(HasSubstr("M=8"), HasSubstr("two of four")));
  EXPECT_EQ(granularity_of(csr), 1);
  EXPECT_EQ(granularity_of(v_n_m(32, 8)), 32);
  EXPECT_EQ(granularity_of(bcsr(32)), 32);
  EXPECT_EQ(granularity_of({"bcsr", {}}), 16);
  EXPECT_EQ(granularity_of({"shfl_bw", {}}), 64);
}

TEST(Prune, RefusesBadScoresAndWeights) {
  const WeightMatrix weights = trained_like(16, 16);
  const auto refusal = [&](const WeightMatrix& pruned_weights, const WeightMatrix& scores) {
    return message_of([&] { choose_weights(pruned_weights, shfl_bw(8), {.scores = &scores}); });
  };
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity(), -1.0}) {
    Array dense = to_dense(weights);
    for (std::int64_t i = 0; i < dense.size(); ++i) dense.set(i, 1);
    dense.set(3 * 16 + 5, bad);
    const WeightMatrix scores = from_dense(dense, "scores.npy");
    EXPECT_THAT(refusal(weights, scores), AllOf(HasSubstr("scores.npy"), HasSubstr("row 3, column 5")));
    if (bad < 0) continue;
    EXPECT_THAT(message_of([&] { choose(scores, csr, 0.5); }),
                AllOf(HasSubstr("row 3, column 5"), HasSubstr("finite")));
  }
  EXPECT_THAT(refusal(weights, trained_like(16, 15)),
              AllOf(HasSubstr("15 columns"), HasSubstr("16 columns")));
  const Pruning other = choose(trained_like(8, 8), csr, 0.5);
  EXPECT_THAT(message_of([&] { pruned(weights, other); }), HasSubstr("16 rows"));
}

}  // namespace
}  // namespace weft
