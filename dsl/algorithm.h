// What is computed, without types of indices and without templates: the value that expressions of the
// language become, and that every later room reads.
#pragma once

#include <weft/dsl/dtype.h>
#include <weft/dsl/extent.h>
#include <weft/dsl/refused_call.h>

#include <cstdint>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

namespace weft {

/// Which operand holds pruned weights. At most one does.
enum class Storage : std::uint8_t { dense, sparse };

/// A loop variable of the algorithm.
struct IndexVariable {
  std::string name;
  Extent extent;
  bool reduction = false;  ///< summed over; the output does not have it
};

/// coefficient * index + … + constant: how convolution addresses its image.
struct AffineIndex {
  std::vector<std::pair<std::string, std::int64_t>>
      terms;  ///< index name, coefficient; no name twice, none 0
  std::int64_t constant = 0;

  /// The name of the index when this is just that index, else nothing.
  const std::string* plain() const;
  std::string text() const;  ///< "2*p + r - 1"
};

/// A tensor of the algorithm.
struct Operand {
  std::string name;
  DType dtype = DType::f32;
  std::vector<Extent> shape;
  std::vector<std::int64_t> strides;  ///< in elements, one a dimension; empty: row-major without gaps
  Storage storage = Storage::dense;
};

/// operand[indices]. Places outside the operand's shape read as zero, which is how a convolution is padded.
struct TensorAccess {
  std::size_t operand = 0;  ///< into Algorithm::operands
  std::vector<AffineIndex> indices;
};

/// A value of the epilogue: a tree over the reduction's sum.
struct Term {
  enum class Kind : std::uint8_t {
    // What is computed with.
    sum,
    number,
    scalar,
    access,
    // Operations: dsl/operation.h.
    add,
    subtract,
    multiply,
    divide,
    maximum,
    minimum,
    relu,
    gelu,
    tanh,
    sigmoid,
    silu,
  };
  Kind kind = Kind::sum;
  double number = 0;            ///< value of a number
  std::string scalar;           ///< name of a scalar argument, given at launch
  TensorAccess access;          ///< what an access reads; only output indices occur in it
  std::vector<Term> arguments;  ///< as many as the operation takes (dsl/operation.h)
};

/// output[indices] = result(sum over the reduction indices of factor * factor). The sum runs in
/// `accumulator`, so does the epilogue; the result is rounded once, when it is stored. gelu is x/2 (1 + erf(x
/// / sqrt 2)), sigmoid 1 / (1 + exp(-x)), silu x sigmoid(x).
struct Algorithm {
  std::string name;                    ///< an identifier
  std::vector<Operand> operands;       ///< inputs in the order of their first use, the output last
  std::vector<std::string> scalars;    ///< in the order of their first use
  std::vector<IndexVariable> indices;  ///< output indices in the output's order, then reduction indices
  TensorAccess output;
  std::vector<TensorAccess> factors;  ///< two
  Term result;
  DType accumulator = DType::f32;

  const IndexVariable& index(const std::string& name) const;  ///< InternalError when there is none
  const Operand* sparse_operand() const;                      ///< null when every operand is dense
  /// Whether the sparse operand has a size that is given at launch. The weights of a schedule are an example
  /// then: its kernels take all weights of that format, of any size and pattern.
  bool takes_any_weights() const;
  /// Whether what follows the sum reads the output, as beta * C does.
  bool reads_output() const;
  /// "C[m, n] = relu(sum(k, A[m, k] * B[k, n]) + bias[m])"
  std::string text() const;
  /// Throws UserError when shapes, extents or names do not fit together. `algorithm()` has called it.
  void check() const;

  /// Always refused: an algorithm has no code; braces among what it is called with, or none.
  template <class... Given>
  detail::AnyResult operator()(const Given&...) const {
    refuse_call<Given...>();
    return {};
  }
  template <class Never = void>
  detail::AnyResult operator()(detail::Anything, detail::Anything = {}, detail::Anything = {},
                               detail::Anything = {}) const {
    refuse_call<Never>();
    return {};
  }

 private:
  template <class... Given>
  static void refuse_call() {
    static_assert(
        detail::never<Given...>,
        "weft: an algorithm is called; accepted: Kernel kernel = compile(default_schedule(spmm, "
        "weights, target_named(\"cpu\"))); and kernel(Device::cpu(), {{{\"B\", &b}, {\"C\", &c}}, {}});");
  }
};

std::ostream& operator<<(std::ostream& stream, const Algorithm& algorithm);

}  // namespace weft
