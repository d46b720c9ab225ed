// What the analytic bound and the predictor know of a problem: a few numbers in place of its weights.
#pragma once

#include <weft/dsl/algorithm.h>
#include <weft/formats/format.h>
#include <weft/formats/weight_matrix.h>

#include <cstdint>
#include <memory>

namespace weft {

struct ProblemSummary {
  std::int64_t m = 0;  ///< rows of the weights
  std::int64_t k = 0;  ///< their columns: of a convolution, channels * filter height * filter width
  std::int64_t n = 0;  ///< columns of the product: of a convolution, batch * output pixels
  DType dtype = DType::f32;
  bool convolution = false;
  std::shared_ptr<const Algorithm> of_images = {};  ///< the convolution; null where it is not known
  bool input_across = false;        ///< a product's dense operand is [n, k]: columns lie apart in memory
  bool input_is_row = false;        ///< it is [1, k]
  bool output_across = false;       ///< likewise its result, [n, m]
  bool output_transposed = false;   ///< recipes transpose it: they leave a few results to the kernel
  bool input_unaligned = false;     ///< recipes of row groups align a product's dense operand
  bool output_unaligned = false;    ///< likewise its result
  bool images_fill_warps = false;   ///< recipes for unstructured weights transpose images and results
  bool images_across = false;       ///< recipes for tensor cores transpose images and results
  std::int64_t stored = 0;          ///< weights that are not pruned
  std::int64_t dense_elements = 0;  ///< elements of the dense operand: k * n, or the pixels of the images
  // What the format asks for; 0 where it has no such number.
  std::int64_t group_rows = 0;      ///< V of shfl_bw, vector_wise and v_n_m; of n_m, if it is given
  std::int64_t block = 0;           ///< b of bcsr and blocked_ell, columns of column_blocks
  std::int64_t column_bits = 32;    ///< a stored column number has, in csr and what is like it
  std::int64_t kept_of = 0;         ///< N of N:M: 2 of n_m and v_n_m
  std::int64_t of_group = 0;        ///< M of N:M; 2 where some blocks keep all: mixed
  std::int64_t columns_of_bit = 0;  ///< 1 of lane_streams, 2 of pair_words
  bool names_rows = false;          ///< the format has a row order
  bool keeps_columns = false;       ///< two of four, with every column where it is: n_m
  double row_mean = 0;              ///< stored weights of a row
  double row_variation = 0;         ///< standard deviation / mean

  double density() const;
  /// Columns that a group of rows keeps, in the mean; rows of a group share all of theirs.
  std::int64_t kept_columns() const;
  /// Columns of the dense operand that a group of rows reads: where a row keeps two of four, twice as many.
  std::int64_t gathered_columns() const;
  /// Whether kernels of row groups leave a result [n, m] in runs of rows: nobody transposes it behind them.
  bool leaves_runs_of_rows() const;
  /// Whether kernels of two of four read X [n, k] as it lies.
  bool reads_runs_of_the_sum() const;
  /// Multiplications and additions of the stored weights.
  double operations() const;
  /// Stored values, the dense operand and the output, once each.
  double bytes() const;
};

/// As kernels of row groups see it: where they read a copy of the dense operand, its rows are filled up.
ProblemSummary with_copied_rows(ProblemSummary problem);

/// Stored weights of a row: their mean, and their standard deviation over it.
struct RowLengths {
  double mean = 0, variation = 0;
};
RowLengths row_lengths(const WeightMatrix& weights);

/// Sets what the format asks for; a dense one stores every weight.
void add_format(ProblemSummary& summary, const Format& format);

/// Sets what the algorithm says of a problem whose `m` is set. The sizes that it leaves open are `open_size`.
void add_algorithm(ProblemSummary& summary, const Algorithm& algorithm, std::int64_t open_size = 0);

/// One pass over the rows of the weights. The sizes that `algorithm` leaves open are taken as `open_size`.
ProblemSummary summary_of(const Algorithm& algorithm, const WeightMatrix& weights, const Format& format,
                          std::int64_t open_size = 0);

}  // namespace weft
