// Whether an output is right, at a cost that large problems can bear.
#pragma once

#include <weft/backends/runtime/libraries/libraries.h>
#include <weft/search/measure/workload.h>

#include <optional>
#include <string>
#include <vector>

namespace weft {

/// How the vendor's libraries compute with elements of a type; nothing for those that they do not take.
std::optional<DenseType> dense_type_of(DType dtype);

/// The most entries that a row has.
std::int64_t longest_row(const WeightMatrix& matrix);

/// What a check found.
struct Check {
  bool passed = false;
  double relative = 0;           ///< norm of the difference over norm of the f64 reference
  std::int64_t rows = 0;         ///< rows of the weights whose outputs were compared with f64
  bool against_trusted = false;  ///< all other outputs were compared with the trusted result
  std::string reason;            ///< why it did not pass
};

/// The f64 reference of one workload. Where computing all of it would take long, a sample of rows, and of
/// these 256 columns or two images, is compared with f64, and the whole output with a result that passed
/// before: the first one, the vendor's dense product.
class Checker {
 public:
  /// `budget`: products that the reference may add up; at least eight rows are computed.
  explicit Checker(const Workload& workload, double budget = 3e7);

  /// Compares an output of the workload. `arithmetic` is how the contestant computes and sets what is
  /// allowed: relative 2e-5 for f32 (transformed convolutions are in that), 2e-3 for tf32, f16 and e4m3,
  /// whose results are f16, 2e-2 for bf16; `strict` asks in addition that every element is right within the
  /// rounding of its sum.
  Check check(const Array& output, DenseType arithmetic, bool strict = false) const;

  /// Makes an output that passed the measure for the rows outside the sample.
  void trust(Array output) { trusted_ = std::move(output); }
  bool complete() const { return complete_; }
  bool has_trusted() const { return trusted_.has_value(); }

 private:
  Array sample_of(const Array& output) const;
  void choose_sample(const Workload& workload, double budget);
  Array chosen_b(const Workload& workload) const;

  std::int64_t all_rows_ = 0;
  std::int64_t outer_ = 1;  ///< the output is [outer, rows, inner]
  std::int64_t inner_ = 1;
  bool complete_ = false;
  std::vector<std::int64_t> images_;  ///< which of `outer_` are looked at
  std::vector<std::int64_t> rows_;
  std::vector<std::int64_t> columns_;  ///< which of `inner_` are looked at
  Reference expected_;
  double strict_tolerance_ = 0;
  std::optional<Array> trusted_;
};

/// Relative norm of the difference; infinity where one of the two is not finite.
double relative_difference(const Array& output, const Array& trusted);

}  // namespace weft
