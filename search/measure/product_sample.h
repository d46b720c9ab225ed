// A large product with what follows its sum, seen at some of its outputs.
#pragma once

#include <weft/backends/arguments.h>
#include <weft/search/measure/trial_problem.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weft {

/// The problem of one row of every few, and of one column of every few where that is not enough, each at a
/// place of its own among them, so that the tiles of every kernel are met at rows and columns of all kinds.
class ProductSample {
 public:
  /// So few that the reference adds up about `budget` products, but one row and one column of every sixteen
  /// at least. Nothing where all outputs are within the budget, or the algorithm is no product of two
  /// matrices.
  static std::optional<ProductSample> of(TrialProblem& problem, double budget);

  const Algorithm& algorithm() const { return algorithm_; }
  const WeightMatrix& matrix() const { return matrix_; }
  std::int64_t rows() const { return matrix_.rows; }
  /// Borrows what the sample has.
  Arguments arguments();
  /// These outputs.
  Array of_output(const Array& output) const;

 private:
  /// Places of an index, in every operand that it counts a dimension of.
  struct Places {
    std::string index;
    std::vector<std::int64_t> places;
  };
  void take(const Places& places);

  Algorithm algorithm_;
  WeightMatrix matrix_;
  std::map<std::string, Array> tensors_;
  std::map<std::string, double> scalars_;
  std::vector<Places> taken_;
};

}  // namespace weft
