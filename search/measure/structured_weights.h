// Seeded weights of a known structure, made rather than pruned: what the measurements of tensor-core kernels
// and of the vendors' formats run on.
#pragma once

#include <weft/dsl/arithmetic.h>
#include <weft/formats/weight_matrix.h>
#include <weft/search/measure/pair_pattern.h>

#include <cstdint>
#include <vector>

namespace weft {

/// Groups of `rows` rows that keep the same columns. The rows of group g are
/// order[g * rows] … order[(g + 1) * rows - 1]; the last group may have fewer.
struct RowGroups {
  std::int64_t rows = 0;
  std::int64_t kept = 0;  ///< columns of each group
  std::vector<std::int32_t> order;

  std::int64_t count() const { return ceil_divide(static_cast<std::int64_t>(order.size()), rows); }
};

struct ShflBwOptions {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  double sparsity = 0;  ///< 0 … 1; every group keeps round((1 - sparsity) * columns), at least 1
  std::int64_t group_rows = 64;
  DType dtype = DType::f16;
  std::uint64_t seed = 1;
};

struct ShflBwWeights {
  WeightMatrix matrix;
  RowGroups groups;
};

/// Rows in a random order, cut into groups, a random list of kept columns for each, normal values.
/// Convolution filters are the matrix filters x (channels * filter height * filter width). UserError for an
/// extent or group below 1, a sparsity outside 0 … 1, or an element type that is not floating.
ShflBwWeights shfl_bw_weights(const ShflBwOptions& options);

struct PairWeights {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  PairPattern pattern;
  DType dtype = DType::f16;
  std::uint64_t seed = 1;
};

/// Weights of that pattern: of each block of columns four random ones for a group of rows, two random ones of
/// these for each row, normal values; a narrower block at the end has what it can. UserError for an extent
/// below 1 or an element type that is not floating.
WeightMatrix pair_weights(const PairWeights& options);

/// Every element stored, none zero, normal.
WeightMatrix dense_weights(std::int64_t rows, std::int64_t columns, DType dtype, std::uint64_t seed);

/// Blocks of `block` x `block`, every row of blocks keeping round((1 - sparsity) * its blocks), at least 1,
/// at random places. UserError where `block` does not divide rows and columns.
WeightMatrix block_weights(std::int64_t rows, std::int64_t columns, std::int64_t block, double sparsity,
                           DType dtype, std::uint64_t seed);

/// Keeps the two entries of largest magnitude of every four neighbouring columns of a row; of equal ones the
/// first. Where fewer than four are left at the end of a row, two of them likewise.
WeightMatrix two_of_four(const WeightMatrix& weights);

/// The weights of a convolution whose channels are in groups, [filters, channels of a group, …], as those of
/// one over all channels: columns of other groups' channels are pruned. Both extents of the shape that count
/// filters and channels have to be multiples of `groups`.
WeightMatrix across_groups(WeightMatrix weights, std::int64_t groups);
/// The inverse: every filter's own group alone.
WeightMatrix within_groups(WeightMatrix weights, std::int64_t groups);

/// What cuSPARSE calls Blocked-ELL: rows of blocks that all keep the same number.
struct BlockedEll {
  std::int64_t block = 0;
  std::int64_t columns = 0;  ///< columns of `values`
  Array block_column;        ///< [rows / block, columns / block], i32, -1 where a row of blocks has fewer
  Array values;              ///< [rows, columns]: kept blocks side by side, row-major as a whole
};
/// A block is kept where one of its elements is stored. UserError where `block` does not divide rows and
/// columns.
BlockedEll blocked_ell(const WeightMatrix& weights, std::int64_t block);

/// Normal numbers, mean 0 and deviation 1, none zero once rounded to `dtype`. Drawn from a table of 65536,
/// because a layer has tens of millions. UserError for a type that is not floating.
Array normal_array(DType dtype, std::vector<std::int64_t> shape, std::uint64_t seed);

}  // namespace weft
