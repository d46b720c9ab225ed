// What pruning keeps, by definition and against brute force.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/formats/prune/prune.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <limits>
#include <numeric>
#include <set>

#include "formats/generated_matrices.h"
#include "support/sanitizers.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const Format csr = formats::csr();
Format vector_wise(std::int64_t v) {
  return {"vector_wise", {{"V", v}}};
}
Format shfl_bw(std::int64_t v) {
  return {"shfl_bw", {{"V", v}}};
}
Format bcsr(std::int64_t b) {
  return {"bcsr", {{"b", b}}};
}
Format v_n_m(std::int64_t v, std::int64_t m) {
  return {"v_n_m", {{"V", v}, {"M", m}}};
}

Pruning choose(const WeightMatrix& weights, const Format& format, double sparsity) {
  return choose_weights(weights, format, {.sparsity = sparsity});
}

/// One for each place of the matrix.
std::vector<bool> places(const WeightMatrix& weights, const Pruning& pruning) {
  std::vector<bool> result(static_cast<std::size_t>(weights.rows * weights.columns));
  for (std::size_t row = 0; row + 1 < pruning.row_begin.size(); ++row) {
    for (auto i = pruning.row_begin[row]; i < pruning.row_begin[row + 1]; ++i) {
      const auto column = static_cast<std::size_t>(pruning.column[static_cast<std::size_t>(i)]);
      result[row * static_cast<std::size_t>(weights.columns) + column] = true;
    }
  }
  return result;
}

std::vector<std::int32_t> as_given(std::int64_t rows) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(rows));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// The matrix is pruned in columns of `v` rows in this order, each kept or dropped as a whole.
void expect_whole_vectors(const WeightMatrix& weights, const Pruning& pruning,
                          const std::vector<std::int32_t>& order, std::int64_t v) {
  const std::vector<bool> kept_at = places(weights, pruning);
  ASSERT_EQ(std::set<std::int32_t>(order.begin(), order.end()).size(),
            static_cast<std::size_t>(weights.rows));
  for (std::int64_t first = 0; first < weights.rows; first += v) {
    const std::int64_t height = std::min(v, weights.rows - first);
    for (std::int64_t column = 0; column < weights.columns; ++column) {
      std::int64_t kept = 0;
      for (std::int64_t i = first; i < first + height; ++i) {
        const std::int64_t row = order[static_cast<std::size_t>(i)];
        kept += kept_at[static_cast<std::size_t>(row * weights.columns + column)] ? 1 : 0;
      }
      EXPECT_TRUE(kept == 0 || kept == height) << "group from " << first << ", column " << column;
    }
  }
}

void expect_consistent(const WeightMatrix& weights, const Pruning& pruning, double sparsity) {
  const std::int64_t target =
      std::llround((1 - sparsity) * static_cast<double>(weights.rows * weights.columns));
  EXPECT_LE(pruning.kept(), target);
  ASSERT_EQ(weights.stored(), weights.rows * weights.columns);
  const std::vector<bool> kept_at = places(weights, pruning);
  double kept = 0;
  double total = 0;
  for (std::int64_t i = 0; i < weights.stored(); ++i) {
    const double score = std::abs(weights.values.get(i));
    total += score;
    kept += kept_at[static_cast<std::size_t>(i)] ? score : 0;
  }
  EXPECT_NEAR(pruning.kept_score, total > 0 ? kept / total : 1, 1e-6);
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

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

TEST(Prune, GroupsHaveExactlyVRowsForEveryV) {
  for (const std::int64_t rows : {512, 300, 257, 100, 7}) {
    const WeightMatrix weights = trained_like(rows, 65);
    for (const std::int64_t v : {8, 16, 32, 64, 128, 256}) {
      SCOPED_TRACE(std::to_string(rows) + " rows, V = " + std::to_string(v));
      for (const double sparsity : {0.5, 0.9}) {
        const Pruning shuffled = choose(weights, shfl_bw(v), sparsity);
        expect_whole_vectors(weights, shuffled, shuffled.row_order, v);
        expect_consistent(weights, shuffled, sparsity);
        const Pruning plain = choose(weights, vector_wise(v), sparsity);
        expect_whole_vectors(weights, plain, as_given(rows), v);
        expect_consistent(weights, plain, sparsity);
        EXPECT_GE(shuffled.kept_score, plain.kept_score);
        if (rows % v == 0) {
          EXPECT_EQ(shuffled.kept(), std::llround((1 - sparsity) * static_cast<double>(rows * 65)) / v * v);
        }
        if (rows > 2 * v) {
          EXPECT_GT(shuffled.kept_score, 1.02 * plain.kept_score);
        }
      }
    }
  }
}

/// Rows whose large weights lie in the columns of their group, the groups mixed up.
struct Hidden {
  WeightMatrix weights;
  std::vector<std::int64_t> group_of_row;
};
Hidden hidden_groups(std::int64_t groups, std::int64_t v, std::int64_t columns, double noise,
                     std::uint64_t seed) {
  Random random(seed);
  std::vector<std::int64_t> group_of_row(static_cast<std::size_t>(groups * v));
  for (std::size_t i = 0; i < group_of_row.size(); ++i) group_of_row[i] = static_cast<std::int64_t>(i) / v;
  for (std::size_t i = group_of_row.size(); i-- > 1;)
    std::swap(group_of_row[i],
              group_of_row[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i) + 1))]);
  std::vector<bool> kept(static_cast<std::size_t>(groups * columns));
  for (std::int64_t group = 0; group < groups; ++group) {
    for (std::int64_t left = columns / 4; left > 0;) {
      const auto place = static_cast<std::size_t>(group * columns + random.below(columns));
      if (!kept[place]) --left;
      kept[place] = true;
    }
  }
  Array dense(DType::f32, {groups * v, columns});
  for (std::int64_t i = 0; i < dense.size(); ++i) {
    const std::int64_t group = group_of_row[static_cast<std::size_t>(i / columns)];
    const bool large = kept[static_cast<std::size_t>(group * columns + i % columns)];
    dense.set(i, (large ? 1 : noise) * (0.5 + random.uniform()));
  }
  return {from_dense(dense, "hidden groups"), group_of_row};
}

TEST(Prune, FindsTheGroupsThatAMatrixHas) {
  for (const std::int64_t v : {8, 32, 64}) {
    SCOPED_TRACE(v);
    const Hidden hidden = hidden_groups(12, v, 200, 0.01, 3);
    const Pruning found = choose(hidden.weights, shfl_bw(v), 0.75);
    EXPECT_GT(found.kept_score, 0.96);
    EXPECT_LT(choose(hidden.weights, vector_wise(v), 0.75).kept_score, 0.6);
    for (std::size_t i = 0; i < found.row_order.size(); ++i) {
      const auto first = static_cast<std::size_t>(found.row_order[i - i % static_cast<std::size_t>(v)]);
      EXPECT_EQ(hidden.group_of_row[static_cast<std::size_t>(found.row_order[i])], hidden.group_of_row[first])
          << i;
    }
  }
}

TEST(Prune, KeptScoresAreInOrder) {
  const WeightMatrix weights = trained_like(256, 320, 5);
  for (const std::int64_t v : {32, 64}) {
    for (const double sparsity : {0.75, 0.9}) {
      const double unstructured = choose(weights, csr, sparsity).kept_score;
      const double shuffled = choose(weights, shfl_bw(v), sparsity).kept_score;
      const double plain = choose(weights, vector_wise(v), sparsity).kept_score;
      const double blocks = choose(weights, bcsr(v), sparsity).kept_score;
      EXPECT_GT(unstructured, shuffled);
      EXPECT_GT(shuffled, plain);
      EXPECT_GT(plain, blocks);
      const double k_means =
          choose_weights(weights, shfl_bw(v), {.sparsity = sparsity, .attempts = 1, .refine = false})
              .kept_score;
      EXPECT_GT(k_means, plain);
      EXPECT_GT(shuffled, k_means);
    }
  }
}

TEST(Prune, WhereNothingCanBeGainedNothingIsLost) {
  Random random(2);
  Array dense(DType::f32, {128, 96});
  for (std::int64_t i = 0; i < dense.size(); ++i) dense.set(i, 0.5 + random.uniform());
  const WeightMatrix uniform = from_dense(dense, "uniform");
  EXPECT_GE(choose(uniform, shfl_bw(32), 0.75).kept_score, choose(uniform, vector_wise(32), 0.75).kept_score);
  const WeightMatrix good = pruned(uniform, choose(uniform, vector_wise(32), 0.75));
  const Pruning again = choose(good, shfl_bw(32), 0.75);
  EXPECT_EQ(again.kept_score, 1);
  EXPECT_EQ(again.row_order, as_given(128));
  EXPECT_EQ(pruned(good, again).column, good.column);
}

TEST(Prune, KeptColumnsOfGroupsAreComplete) {
  const WeightMatrix sparse = random_matrix(96, 50, 0.2, 6);
  for (const Format& format : {bcsr(8), vector_wise(16), shfl_bw(16)}) {
    SCOPED_TRACE(format.text());
    const Pruning found = choose(sparse, format, 0.6);
    const WeightMatrix left = pruned(sparse, found);
    left.check();
    EXPECT_EQ(left.column, found.column);
    if (format.name == "bcsr") continue;
    expect_whole_vectors(sparse, found, format.name == "shfl_bw" ? found.row_order : as_given(96), 16);
    const Array before = to_dense(sparse);
    const Array after = to_dense(left);
    const std::vector<bool> kept_at = places(sparse, found);
    for (std::int64_t i = 0; i < before.size(); ++i)
      EXPECT_EQ(after.get(i), kept_at[static_cast<std::size_t>(i)] ? before.get(i) : 0) << i;
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

TEST(Prune, EqualSeedsChooseEqualWeights) {
  const WeightMatrix weights = trained_like(300, 200, 11);
  const auto with_seed = [&](std::uint64_t seed) {
    return choose_weights(weights, shfl_bw(32), {.sparsity = 0.8, .seed = seed, .attempts = 1});
  };
  const Pruning first = with_seed(1);
  EXPECT_EQ(first.column, with_seed(1).column);
  EXPECT_EQ(first.row_order, with_seed(1).row_order);
  EXPECT_NE(first.row_order, with_seed(2).row_order);
}

TEST(Prune, MoreAttemptsKeepNoLess) {
  const WeightMatrix weights = trained_like(160, 120, 4);
  double before = 0;
  for (const std::int64_t attempts : {1, 3, 9}) {
    const double kept =
        choose_weights(weights, shfl_bw(16), {.sparsity = 0.8, .attempts = attempts}).kept_score;
    EXPECT_GE(kept, before);
    before = kept;
  }
}

TEST(Prune, ProgressIsTold) {
  std::vector<PruneProgress> told;
  PruneOptions options{.sparsity = 0.75, .attempts = 3};
  options.progress = [&](const PruneProgress& progress) { told.push_back(progress); };
  choose_weights(trained_like(128, 64), shfl_bw(16), options);
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.front().stage, "k-means");
  EXPECT_EQ(told.front().round, 1);
  EXPECT_EQ(told.back().stage, "refinement");
  for (const PruneProgress& progress : told) EXPECT_EQ(progress.attempts, 3);
  EXPECT_EQ(told.back().attempt, 3);
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

TEST(Prune, AShuffleOfMoreRowsThanItsSearchHoldsIsRefusedAtOnce) {
  const WeightMatrix tall = from_dense(Array(DType::f32, {std::int64_t{1} << 22U, 1}), "tall");
  EXPECT_THAT(message_of([&] { choose_weights(tall, shfl_bw(64), {}); }),
              AllOf(HasSubstr("4194304 rows in 65536 groups"), HasSubstr("shfl_bw:V=65536"),
                    HasSubstr("vector_wise:V=64")));
}

/// Numbers of what the search found before it was made to end sooner for more rows than layers have.
TEST(Prune, LayersHaveTheGroupsTheyAlwaysHad) {
  const auto numbers_of = [](std::int64_t rows, std::int64_t columns, std::int64_t v) {
    SyntheticLayer layer;
    layer.rows = rows;
    layer.columns = columns;
    const Pruning found = choose_weights(synthetic_layer(layer), shfl_bw(v), {.attempts = 1});
    std::uint64_t hash = 14695981039346656037U;
    for (const auto* numbers : {&found.row_order, &found.column}) {
      for (const std::int32_t number : *numbers)
        hash = (hash ^ static_cast<std::uint32_t>(number)) * 1099511628211U;
    }
    return hash;
  };
#if defined(__FMA__) || !defined(__x86_64__)
  GTEST_SKIP() << "[SKIP] sums that are rounded once may lead elsewhere";
#endif
  EXPECT_EQ(numbers_of(1024, 512, 8), 0xb92b8b19ae1b5289U);
  EXPECT_EQ(numbers_of(2048, 512, 64), 0x90b03408c292c97fU);
  EXPECT_EQ(numbers_of(16384, 32, 512), 0x7448a9e3f5d49cf9U);
}

TEST(Prune, RowsBeyondThoseOfLayersTakeSeconds) {
#if !defined(__OPTIMIZE__)
  GTEST_SKIP() << "[SKIP] not an optimized build";
#else
  if (under_sanitizer) GTEST_SKIP() << "[SKIP] slowed by a sanitizer";
  SyntheticLayer layer;
  layer.rows = 22310;
  layer.columns = 47;
  layer.sparsity = 0.8;
  const WeightMatrix weights = synthetic_layer(layer);
  const std::clock_t start = std::clock();
  choose(weights, shfl_bw(8), 0.75);
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 60);
#endif
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

TEST(Prune, ALargeLayerTakesSeconds) {
#if !defined(__OPTIMIZE__)
  GTEST_SKIP() << "[SKIP] not an optimized build";
#else
  if (under_sanitizer) GTEST_SKIP() << "[SKIP] slowed by a sanitizer";
  const WeightMatrix weights = trained_like(4096, 4096);
  for (const std::int64_t v : {64, 16}) {
    // Of all threads together, so that what else the machine does counts for nothing: 30 s on two cores.
    const std::clock_t start = std::clock();
    const Pruning found = choose(weights, shfl_bw(v), 0.75);
    const double taken = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    EXPECT_LT(taken, 60) << "V = " << v;
    EXPECT_EQ(found.kept(), 4096 * 1024);
    RecordProperty("seconds_" + std::to_string(v), std::to_string(taken));
  }
#endif
}

}  // namespace
}  // namespace weft
