// The search for rows that share their columns: what it finds, keeps and takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "choose_weights.h"
#include "formats/generated_matrices.h"
#include "support/sanitizers.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

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
  layer.rows = 16500;
  layer.columns = 47;
  layer.sparsity = 0.8;
  const WeightMatrix weights = synthetic_layer(layer);
  const std::clock_t start = std::clock();
  choose(weights, shfl_bw(32), 0.75);
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 15);
#endif
}

TEST(Prune, ALargeLayerTakesSeconds) {
#if !defined(__OPTIMIZE__)
  GTEST_SKIP() << "[SKIP] not an optimized build";
#else
  if (under_sanitizer) GTEST_SKIP() << "[SKIP] slowed by a sanitizer";
  const WeightMatrix weights = trained_like(1024, 4096);
  for (const std::int64_t v : {64, 16}) {
    // Of all threads together, so that what else the machine does counts for nothing: 7 s on two cores.
    const std::clock_t start = std::clock();
    const Pruning found = choose(weights, shfl_bw(v), 0.75);
    const double taken = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    EXPECT_LT(taken, 15) << "V = " << v;
    EXPECT_EQ(found.kept(), 1024 * 1024);
    RecordProperty("seconds_" + std::to_string(v), std::to_string(taken));
  }
#endif
}

}  // namespace
}  // namespace weft
