#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/search/measure/structured_weights.h>
#include <weft/search/measure/workload.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

std::vector<std::int32_t> columns_of(const WeightMatrix& matrix, std::int64_t row) {
  const auto begin = matrix.column.begin() + matrix.row_begin[static_cast<std::size_t>(row)];
  const auto end = matrix.column.begin() + matrix.row_begin[static_cast<std::size_t>(row) + 1];
  return {begin, end};
}

bool same_bytes(const Array& a, const Array& b) {
  return a.bytes() == b.bytes() && std::equal(a.data(), a.data() + a.bytes(), b.data());
}

TEST(StructuredWeights, ShflBwGroupsShareTheirColumns) {
  const ShflBwWeights weights =
      shfl_bw_weights({.rows = 100, .columns = 70, .sparsity = 0.75, .group_rows = 16, .seed = 3});
  const WeightMatrix& matrix = weights.matrix;
  matrix.check();
  EXPECT_EQ(matrix.values.dtype(), DType::f16);
  EXPECT_EQ(weights.groups.kept, 18) << "17.5, rounded";
  EXPECT_EQ(weights.groups.count(), 7) << "the last group has four rows";
  EXPECT_EQ(matrix.stored(), 100 * 18);
  std::vector<std::int32_t> rows = weights.groups.order;
  EXPECT_FALSE(std::is_sorted(rows.begin(), rows.end())) << "rows are shuffled";
  std::set<std::vector<std::int32_t>> lists;
  for (std::size_t place = 0; place < rows.size(); ++place) {
    const auto columns = columns_of(matrix, rows[place]);
    EXPECT_EQ(columns, columns_of(matrix, rows[place / 16 * 16]));
    lists.insert(columns);
  }
  EXPECT_EQ(lists.size(), 7U) << "every group has a list of its own";
  std::sort(rows.begin(), rows.end());
  for (std::size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i], static_cast<std::int32_t>(i));
}

TEST(StructuredWeights, AreTheSameForASeed) {
  const ShflBwOptions options{.rows = 32, .columns = 40, .sparsity = 0.5, .group_rows = 8, .seed = 7};
  ShflBwOptions other = options;
  other.seed = 8;
  const ShflBwWeights one = shfl_bw_weights(options);
  EXPECT_EQ(one.matrix.column, shfl_bw_weights(options).matrix.column);
  EXPECT_TRUE(same_bytes(one.matrix.values, shfl_bw_weights(options).matrix.values));
  EXPECT_NE(one.matrix.column, shfl_bw_weights(other).matrix.column);
  EXPECT_FALSE(same_bytes(one.matrix.values, shfl_bw_weights(other).matrix.values));
}

TEST(StructuredWeights, EveryGroupKeepsAColumn) {
  EXPECT_EQ(shfl_bw_weights({.rows = 8, .columns = 10, .sparsity = 1, .group_rows = 8}).groups.kept, 1);
  EXPECT_EQ(shfl_bw_weights({.rows = 8, .columns = 10, .sparsity = 0, .group_rows = 8}).groups.kept, 10);
  EXPECT_THROW(shfl_bw_weights({.rows = 8, .columns = 10, .sparsity = 1.5}), UserError);
  EXPECT_THROW(shfl_bw_weights({.rows = 8, .columns = 10, .group_rows = 0}), UserError);
  EXPECT_THROW(shfl_bw_weights({.rows = 0, .columns = 10}), UserError);
}

TEST(StructuredWeights, NormalNumbers) {
  for (const DType dtype : {DType::f16, DType::f32}) {
    const Array array = normal_array(dtype, {40000}, 11);
    double sum = 0;
    double squares = 0;
    for (std::int64_t i = 0; i < array.size(); ++i) {
      ASSERT_NE(array.get(i), 0);
      sum += array.get(i);
      squares += array.get(i) * array.get(i);
    }
    EXPECT_NEAR(sum / 40000, 0, 0.03);
    EXPECT_NEAR(squares / 40000, 1, 0.03);
  }
  EXPECT_THROW(normal_array(DType::i32, {4}, 1), UserError);
}

TEST(StructuredWeights, DenseOnesHaveNoZero) {
  const WeightMatrix dense = dense_weights(6, 5, DType::f16, 2);
  dense.check();
  EXPECT_EQ(dense.stored(), 30);
  const Array all = to_dense(dense);
  for (std::int64_t i = 0; i < all.size(); ++i) EXPECT_NE(all.get(i), 0);
}

TEST(StructuredWeights, BlocksAreWholeAndEvenlyManyInARow) {
  const WeightMatrix blocks = block_weights(32, 48, 8, 0.5, DType::f16, 5);
  blocks.check();
  EXPECT_EQ(blocks.stored(), 32 * 24);
  for (std::int64_t row = 0; row < 32; ++row) {
    const auto columns = columns_of(blocks, row);
    EXPECT_EQ(columns, columns_of(blocks, row / 8 * 8));
    for (std::size_t i = 0; i < columns.size(); ++i)
      EXPECT_EQ(columns[i] % 8, static_cast<std::int32_t>(i % 8));
  }
  EXPECT_NE(columns_of(blocks, 0), columns_of(blocks, 31));
  EXPECT_THROW(block_weights(32, 50, 8, 0.5, DType::f16, 5), UserError);
  EXPECT_THROW(block_weights(33, 48, 8, 0.5, DType::f16, 5), UserError);
}

/// What cuSPARSE reads from the arrays.
Array to_dense(const BlockedEll& ell, std::int64_t columns) {
  const std::int64_t rows = ell.values.shape()[0];
  const std::int64_t of_a_row = ell.columns / ell.block;
  Array dense(ell.values.dtype(), {rows, columns});
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < ell.columns; ++i) {
      const std::int64_t number = ell.block_column.get_integer(row / ell.block * of_a_row + i / ell.block);
      if (number >= 0)
        dense.copy_element(row * columns + number * ell.block + i % ell.block, ell.values,
                           row * ell.columns + i);
      else
        EXPECT_TRUE(ell.values.is_zero_bits(row * ell.columns + i));
    }
  }
  return dense;
}

TEST(StructuredWeights, BlockedEllHoldsEveryEntry) {
  for (const double sparsity : {0.0, 0.5, 0.9}) {
    const WeightMatrix blocks = block_weights(24, 32, 8, sparsity, DType::f16, 5);
    EXPECT_TRUE(same_bytes(to_dense(blocked_ell(blocks, 8), 32), to_dense(blocks)));
    EXPECT_TRUE(same_bytes(to_dense(blocked_ell(blocks, 4), 32), to_dense(blocks)));
  }
  EXPECT_EQ(blocked_ell(block_weights(24, 32, 8, 0.5, DType::f16, 5), 8).columns, 16);
  EXPECT_THROW(blocked_ell(dense_weights(10, 8, DType::f16, 1), 4), UserError);
}

TEST(StructuredWeights, BlockedEllFillsUpShorterRows) {
  Array values(DType::f32, {4, 6});
  values.set(0 * 6 + 5, 1);  // a block in the last column of blocks
  values.set(2 * 6 + 0, 2);
  values.set(3 * 6 + 3, 3);
  const WeightMatrix matrix = from_dense(values, "test");
  const BlockedEll ell = blocked_ell(matrix, 2);
  EXPECT_EQ(ell.columns, 4);
  EXPECT_THAT(ell.block_column.as<std::int32_t>(), ElementsAre(2, -1, 0, 1));
  EXPECT_THAT(ell.values.as<float>(), ElementsAreArray({0, 1, 0, 0,  //
                                                        0, 0, 0, 0,  //
                                                        2, 0, 0, 0,  //
                                                        0, 0, 0, 3}));
  EXPECT_TRUE(same_bytes(to_dense(ell, 6), values));
}

TEST(StructuredWeights, TwoOfFourKeepsTheLargest) {
  Array values(DType::f32, {2, 7});
  const std::vector<double> given{1, -4, 3, -3, 5, 6, 7, 0, 0, 2, 0, 0, 8, 0};
  for (std::size_t i = 0; i < given.size(); ++i) values.set(static_cast<std::int64_t>(i), given[i]);
  const WeightMatrix kept = two_of_four(from_dense(values, "test"));
  kept.check();
  EXPECT_THAT(to_dense(kept).as<float>(), ElementsAreArray({0, -4, 3, 0, 0, 6, 7,  //
                                                            0, 0, 2, 0, 0, 8, 0}));
  const WeightMatrix half = two_of_four(dense_weights(16, 64, DType::f16, 4));
  EXPECT_EQ(half.sparsity(), 0.5);
}

TEST(StructuredWeights, PairsFitTheirPattern) {
  for (const auto& [rows, of] : {std::pair(0, 4), std::pair(16, 8), std::pair(64, 10), std::pair(32, 100)}) {
    const PairPattern pattern{rows, of};
    SCOPED_TRACE(pattern.text());
    const WeightMatrix matrix = pair_weights({.rows = 100, .columns = 207, .pattern = pattern});
    matrix.check();
    // Two of every whole block, and of the rest what there is.
    const std::int64_t rest = std::min<std::int64_t>(2, 207 % of);
    EXPECT_EQ(matrix.stored(), 100 * (207 / of * 2 + rest));
    EXPECT_NO_THROW(pack(matrix, pattern.format()));
    const WeightMatrix again = pair_weights({.rows = 100, .columns = 207, .pattern = pattern});
    EXPECT_EQ(again.column, matrix.column);
    const WeightMatrix other = pair_weights({.rows = 100, .columns = 207, .pattern = pattern, .seed = 2});
    EXPECT_NE(other.column, matrix.column);
  }
}

TEST(StructuredWeights, PairsUseEveryPairOfColumns) {
  const WeightMatrix matrix = pair_weights({.rows = 600, .columns = 4, .pattern = {}});
  std::map<std::pair<std::int32_t, std::int32_t>, int> seen;
  for (std::size_t i = 0; i < matrix.column.size(); i += 2) ++seen[{matrix.column[i], matrix.column[i + 1]}];
  ASSERT_EQ(seen.size(), 6U);
  for (const auto& [pair, count] : seen) EXPECT_NEAR(count, 100, 40) << pair.first << ", " << pair.second;
}

TEST(StructuredWeights, WorkloadsOfPatterns) {
  SuiteCase chosen;
  chosen.problem.m = 100;
  chosen.problem.k = 72;
  chosen.problem.n = 24;
  chosen.pattern = PairPattern{64, 16};
  chosen.sparsity = chosen.pattern->sparsity();
  const Workload workload = make_workload(chosen, DType::f16, {});
  EXPECT_THAT(workload.source, testing::HasSubstr("64:2:16, seed"));
  EXPECT_EQ(workload.pattern, chosen.pattern);
  const Ceilings ceilings = ceilings_of(DType::f16);
  const GroupLimits limits = group_limits(workload, ceilings).value();
  // Two groups of 64 rows; 4 columns of each of four blocks, and 4 of the last one's 8: 20, filled up to 32.
  EXPECT_DOUBLE_EQ(limits.tensor, 1e6 * 128 * 32 * 24 / ceilings.tensor_operations_a_second);
  const double bytes = 2.0 * 20 * 24 * 2 + 100 * 10 * 2.25;
  EXPECT_DOUBLE_EQ(limits.l2, 1e6 * bytes / ceilings.l2_bytes_a_second);
  chosen.pattern = PairPattern{};
  EXPECT_EQ(group_limits(make_workload(chosen, DType::f16, {}), ceilings)->l2, 0);
}

TEST(StructuredWeights, WorkloadsOfCasesWithGroups) {
  SuiteProblem problem;
  problem.m = 96;
  problem.k = 100;
  problem.n = 20;
  const SuiteCase chosen{problem, 0.75, 1, 32};
  const Workload workload = make_workload(chosen, DType::f16, {});
  ASSERT_TRUE(workload.groups.has_value());
  EXPECT_EQ(workload.groups->rows, 32);
  EXPECT_EQ(workload.groups->kept, 25);
  EXPECT_EQ(workload.b->dtype(), DType::f16);
  const Workload copy = copy_of(workload, 1);
  EXPECT_EQ(copy.matrix.column, workload.matrix.column);
  EXPECT_FALSE(same_bytes(copy.matrix.values, workload.matrix.values));
  EXPECT_TRUE(copy.groups.has_value());
}

TEST(StructuredWeights, FiltersOfAConvolution) {
  SuiteProblem problem;
  Convolution c;
  c.channels = 4;
  c.filters = 16;
  c.image = {8, 8};
  c.filter = {3, 3};
  problem.convolution = c;
  problem.m = 16;
  problem.k = 36;
  problem.n = 36;
  const Workload workload = make_workload({problem, 0.5, 1, 8}, DType::f16, {});
  EXPECT_THAT(workload.matrix.shape, ElementsAre(16, 4, 3, 3));
  EXPECT_EQ(workload.groups->count(), 2);
  EXPECT_EQ(workload.matrix.stored(), 16 * 18);
}

TEST(StructuredWeights, LimitsOfTensorCoresAndOfTheL2) {
  SuiteProblem problem;
  problem.m = 100;
  problem.k = 50;
  problem.n = 30;
  const Workload workload = make_workload({problem, 0.5, 1, 64}, DType::f16, {});
  Ceilings ceilings;
  ceilings.tensor_operations_a_second = 1e6;
  ceilings.l2_bytes_a_second = 1e6;
  const GroupLimits limits = group_limits(workload, ceilings).value();
  EXPECT_DOUBLE_EQ(limits.tensor, 2 * 128 * 32 * 32) << "two groups, 25 columns kept, filled up";
  EXPECT_DOUBLE_EQ(limits.l2, (2 * 25 * 30 + 100 * 25) * 2);
  EXPECT_FALSE(group_limits(make_workload({problem, 0.5, 1}, DType::f16, {}), ceilings).has_value());
}

}  // namespace
}  // namespace weft
