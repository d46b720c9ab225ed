// The result of an algorithm in f64, computed straight from its definition: what every kernel is compared
// with.
#pragma once

#include <weft/backends/arguments.h>
#include <weft/formats/sparse_tensor.h>

namespace weft {

/// The output in f64, and for each element the sum of the absolute values of what was added up to make it,
/// which is what rounding errors are proportional to.
struct Reference {
  Array value;
  Array magnitude;
};

/// Shares no code with the compiler: walks the packed weights (null where no operand is sparse) and the dense
/// arrays. Arguments are checked as a kernel checks them; the output's old value is read where the algorithm
/// reads it. UserError when no operand is sparse and no factor has only plain indices.
Reference reference(const Algorithm& algorithm, const SparseTensor* weights, const Arguments& arguments);

/// How far a result is from the reference.
struct Difference {
  double relative = 0;  ///< norm of the difference over norm of the reference (absolute where that is 0)
  double largest = 0;   ///< largest |difference| of an element
  double largest_scaled = 0;  ///< largest |difference| / magnitude of an element
  std::int64_t wrong =
      -1;  ///< first element that is NaN or infinite where the reference is not, or the reverse
  std::string text() const;
};
Difference difference(const Array& result, const Reference& expected);

/// The bound on Difference::largest_scaled for a right kernel: rounding of sums of `terms` products in the
/// accumulator and of the result in `output`.
double tolerance(DType output, DType accumulator, std::int64_t terms);

}  // namespace weft
