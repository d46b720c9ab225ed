// The result of an algorithm in f64, computed straight from its definition: what every kernel is compared
// with.
#pragma once

#include <weft/backends/arguments.h>
#include <weft/dsl/errors.h>
#include <weft/formats/sparse_tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace weft {

/// Inf and NaN beside pruned places: a weight that is zero, whether its format stores it or not, is
/// multiplied or left out, as suits the kernel. For finite operands both are the same. Where it meets Inf or
/// NaN, an element of the result is either what it is without that product, or NaN; so it is where a weight
/// that is Inf or NaN meets what lies outside of an operand. Nothing else differs: products of other weights
/// count as IEEE 754 says, and an element that no such product belongs to knows nothing of the Inf or NaN.
///
/// The output in f64, row-major whatever strides its array has, and for each element the sum of the absolute
/// values of what was added up to make it, which is what rounding errors are proportional to.
struct Reference {
  Array value;
  Array magnitude;
  std::int64_t terms = 0;  ///< the most products that were added up to make an element
  /// Of each element, whether it may be NaN in place of its value, by the rule above; empty: none may.
  std::vector<bool> or_nan = {};
};

/// Shares no code with the compiler: one loop over all indices, where a walk of the packed weights (null
/// where no operand is sparse) takes the place of those that they have. Arguments are checked as a kernel
/// checks them; the output's old value is read where the algorithm reads it. Where a factor lies outside of
/// its operand there is no product, so that no infinity meets a zero there. UserError when weights are
/// missing or have other sizes than the algorithm.
Reference reference(const Algorithm& algorithm, const SparseTensor* weights, const Arguments& arguments,
                    CallPlace place = {});

/// The least and the largest number that a result is compared with: what is beyond those of a type of a byte
/// is stored as the nearest. Infinities for other types.
std::pair<double, double> numbers_of_result(DType type);
/// How far rounding alone may move a number within those of a type of a byte: half of the step there. Zero
/// for other types, whose rounding tolerance() counts as a share of the magnitude.
double rounding_of_result(DType type, double value);

/// How far a result is from the reference.
struct Difference {
  double relative = 0;  ///< norm of the difference over norm of the reference (absolute where that is 0)
  double largest = 0;   ///< largest |difference| of an element
  /// largest |difference| / magnitude of an element; of types of a byte, of what is beyond
  /// rounding_of_result()
  double largest_scaled = 0;
  std::int64_t wrong =
      -1;  ///< first element that is NaN or infinite where the reference cannot be, or the reverse
  std::string text() const;
};
/// Element by element, in row-major order. NaN is zero as an integer. UserError when their numbers differ.
Difference difference(const Array& result, const Reference& expected, CallPlace place = {});

/// The bound on Difference::largest_scaled for a right kernel: rounding of sums of `terms` products in the
/// accumulator and of the result in `output`.
double tolerance(DType output, DType accumulator, std::int64_t terms);
/// The same for an algorithm. Of factors of e4m3 and e5m2 it allows 2^-10 more, whoever computes: tensor
/// cores cut that much of the sums of a stage of 256 places, which are then added up in f32
/// (docs/measurements/two_of_four.md, "Elements of a byte").
double tolerance(const Algorithm& algorithm, std::int64_t terms);

}  // namespace weft
