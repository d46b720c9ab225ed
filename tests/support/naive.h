// What an algorithm computes, by its definition alone: the third opinion beside the kernels and the
// reference.
#pragma once

#include <weft/backends/arguments.h>
#include <weft/dsl/algorithm.h>
#include <weft/formats/weight_matrix.h>

#include <cstdint>
#include <string>
#include <vector>

namespace weft::test {

/// The output, element by element in row-major order.
struct NaiveResult {
  std::vector<double> value;
  std::vector<double> magnitude;    ///< sum of the absolute values that were added up to make it
  std::vector<std::int64_t> place;  ///< place of the element in the output's array
  std::int64_t terms = 0;           ///< products of each sum
  bool exact = false;               ///< whether every number that occurs is a whole one
};

/// One loop over all values of all indices, in f64, that reads every operand where the algorithm says, and
/// zero outside of it. `weights`: of the sparse operand, before they were packed; null where there is none.
/// Formats, packed arrays and the code of the reference have no part in it. The old output is read where the
/// algorithm reads it, so this comes before the kernel.
NaiveResult naive(const Algorithm& algorithm, const WeightMatrix* weights, const Arguments& arguments);

/// Nothing where the output is the expected one: to the last bit where whole numbers leave no doubt, within
/// the rounding of the types elsewhere. Else the first element that is not.
std::string disagreement(const Algorithm& algorithm, const NaiveResult& expected, const Array& output);

}  // namespace weft::test
