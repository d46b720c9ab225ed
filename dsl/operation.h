// The operations of an epilogue: what they are called, how many terms they take, what they compute.
#pragma once

#include <weft/dsl/algorithm.h>

#include <cstddef>
#include <span>
#include <string_view>

namespace weft {

/// A value of the reference, and how large what it was made of is: its error is a part of that.
struct Sized {
  double value = 0;
  double size = 0;
};

/// One row an operation; what kernels compute stands in scheduler/program/build_program.cpp.
struct Operation {
  Term::Kind kind = Term::Kind::sum;
  std::string_view text;          ///< "relu", or the sign that stands between two terms: "+"
  std::size_t arguments = 0;      ///< one or two
  int precedence = 3;             ///< 1 for sums, 2 for products, 3 for what has its arguments in brackets
  Sized (*result)(Sized, Sized);  ///< in f64; the second is nothing where there is one argument

  /// Whether it stands between its arguments.
  constexpr bool is_sign() const { return precedence < 3; }
};

std::span<const Operation> operations();
/// Null for what is no operation: the sum, numbers, scalars, accesses.
const Operation* operation_of(Term::Kind kind);

}  // namespace weft
