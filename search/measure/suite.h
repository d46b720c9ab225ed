// A suite of problems to measure: a JSON file that names shapes and sparsities, weights left open.
#pragma once

#include <weft/dsl/dtype.h>
#include <weft/dsl/errors.h>
#include <weft/search/measure/pair_pattern.h>
#include <weft/search/spaces/problems.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft {

/// One problem of a suite. A product has m, k, n; a convolution has `convolution`, and its weights are seen
/// as the matrix m x k = filters x (channels * filter height * filter width).
struct SuiteProblem {
  std::string id;     ///< "id" of the file, else the problem's number, from 1
  std::string label;  ///< "net", "model" or "layer" of the file, or nothing
  std::int64_t m = 0;
  std::int64_t k = 0;  ///< in a convolution with groups, channels of one group times the filter
  std::int64_t n = 0;  ///< columns of the dense operand; of a convolution, batch * output pixels
  std::optional<Convolution> convolution;
  std::string op = {};                     ///< as the file names it, "spmv"; nothing where it does not
  bool follows_sum = false;                ///< whether the file names a bias or an activation
  std::int64_t image_groups = 1;           ///< groups of a convolution's channels
  ImageLayout layout = ImageLayout::nchw;  ///< that of weft's images; `convolution` is as libraries count it
};

/// The problems of a file, and what is to be done with each of them.
struct Suite {
  std::string name;
  DType dtype = DType::f32;
  std::vector<double> sparsity;
  std::vector<std::int64_t> batch{1};  ///< "n_scale" of products, "batch" of convolutions
  /// "V": sizes of groups of rows that keep the same columns; 0 alone where weights are unstructured.
  std::vector<std::int64_t> group_rows{0};
  std::vector<PairPattern> patterns;   ///< weights that keep two of four, in place of sparsities and "V"
  std::int64_t block = 0;              ///< size of blocks that are dense inside; 0: none
  std::vector<SuiteProblem> problems;  ///< at batch 1
  /// "density" in place of "sparsity": for the simulated sparse tensor core (simulated_blocks.h).
  bool simulated = false;

  bool is_grouped() const { return group_rows.front() > 0; }
  bool is_patterned() const { return !patterns.empty(); }
  bool is_convolution() const { return !problems.empty() && problems.front().convolution.has_value(); }
};

/// One problem at one sparsity and batch.
struct SuiteCase {
  SuiteProblem problem;
  double sparsity = 0;
  std::int64_t batch = 1;
  std::int64_t group_rows = 0;  ///< rows of a group of Shfl-BW weights; 0: others
  std::optional<PairPattern> pattern = {};
  std::int64_t block = 0;  ///< size of blocks that are dense inside; 0: others
  std::optional<std::uint64_t> seed =
      {};  ///< seed of what is drawn; nothing: it follows from shape and sparsity

  /// Whether its weights have a structure that they are made with.
  bool is_structured() const { return group_rows > 0 || pattern || block > 0; }
};

/// Reads a suite. Fields: "suite", "dtype" (f32, f16, bf16, e4m3, e5m2, i8), "sparsity" (fractions, a list),
/// "n_scale" or "batch" (a list), "V" (a list: the weights are Shfl-BW with groups of so many rows), or in
/// place of "sparsity" and "V" "patterns" (a list of "2:4" and V:2:M as "64:2:16"), or in place of "sparsity"
/// "density" (fractions, a list: for the simulated sparse tensor core), "problems": products with "M", "K",
/// "N", convolutions with "C", "F", "H", "W", "R", "S" and, where they are given, "stride" (else 1) and "pad"
/// (else (R - 1) / 2 and (S - 1) / 2), "dilation" and "groups" (else 1) and "layout" (else "nchw").
/// Misspelled fields, and those of other operations and patterns, are refused; others are passed over.
/// UserError that names file, line and field, or says why the file cannot be read.
Suite read_suite(const std::string& path, CallPlace place = {});

/// The suites of a file: one, or, where problems have a "pattern" of their own, one for each of them with its
/// "op" (spmm, spmv, linear, conv2d), "dtype", "sparsity", "pattern" ("unstructured", "shuffled_rows" with
/// "V", "blocks" with "block", or "64:2:16"), "batch", "layout", "dilation" and "groups". Errors as
/// read_suite().
std::vector<Suite> read_suites(const std::string& path, CallPlace place = {});

/// Both from text; `origin` names it in messages.
std::vector<Suite> parse_suites(const std::string& text, const std::string& origin, CallPlace place = {});
Suite parse_suite(const std::string& text, const std::string& origin, CallPlace place = {});

/// What of a suite is to be measured; an empty list means everything.
struct SuiteSelection {
  std::vector<std::string> problems;  ///< ids, labels ("llama2-13b") or sizes ("5120x5120x4096", at batch 1)
  std::vector<double> sparsity;       ///< may name sparsities that the file does not list
  std::vector<std::int64_t> batch;
  std::vector<std::int64_t> group_rows;
  std::vector<std::string> patterns = {};  ///< "64:2:8"; may name some that the file does not list
};

/// Every chosen problem at every chosen sparsity, batch and group size, or pattern: batch outermost, then
/// sparsity, then groups. UserError for a problem that the suite lacks, a sparsity outside 0 … 1, a batch or
/// group below 1, a pattern that is none, groups of a suite without "V", patterns of one without "patterns",
/// and sparsities of one with them.
std::vector<SuiteCase> cases_of(const Suite& suite, const SuiteSelection& selection = {},
                                CallPlace place = {});

}  // namespace weft
