// The language in one header: output(indices) = expression becomes an Algorithm.
#pragma once

#include <weft/dsl/algorithm.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/expression.h>
#include <weft/dsl/index.h>
#include <weft/dsl/refused.h>
#include <weft/dsl/refused_call.h>
#include <weft/dsl/rules.h>
#include <weft/dsl/tensor.h>

#include <string>
#include <utility>

namespace weft {

/// `output = right` keeps every rule that types decide.
template <class Output, class Right>
concept Assignable = IsAccess<Output> && IsTermOrNumber<Right> && detail::RulesOf<Output, Right>::all;

namespace detail {

#define WEFT_NO_MATRIX(reason, found)                                                                       \
  static_assert(fault != NoMatrix::reason,                                                                  \
                "weft: the sparse operand is not indexed with output indices first, then every index that " \
                "is summed over; found: a sparse operand " found                                            \
                "; accepted: W(f, c, r, s) of an output O(f, p, q) and a sum over c, r, s, or A(m, k) of "  \
                "weights declared and stored [outputs, inputs]; with the product turned, Y(m, n) = sum(k, " \
                "W(m, k) * X(k, n))")
template <NoMatrix fault, class Found>
constexpr void check_rules_of_matrix() {
  WEFT_NO_MATRIX(reduced_first, "whose first index is one that is summed over");
  WEFT_NO_MATRIX(output_behind, "with an index of the output behind one that is summed over");
  WEFT_NO_MATRIX(lacks_reduction, "without an index that is summed over");
  WEFT_NO_MATRIX(index_twice, "with an index twice");
}
#undef WEFT_NO_MATRIX

#define WEFT_NO_TYPE(output, factors, instead)                                              \
  static_assert(!(std::same_as<Output, output> && std::same_as<Factor, factors>),           \
                "weft: the output's element type does not fit the factors; found: " #output \
                ", beside factors of " #factors "; accepted: " instead)
template <class Output, class Factor>
constexpr void check_rules_of_output_type() {
  WEFT_NO_TYPE(bf16, f16, "f16, f32, e4m3, e5m2 or i8, such as Tensor<f16, 2> C");
  WEFT_NO_TYPE(f64, f16, "f16, f32, e4m3, e5m2 or i8, such as Tensor<f32, 2> C");
  WEFT_NO_TYPE(f16, bf16, "bf16, f32, e4m3, e5m2 or i8, such as Tensor<bf16, 2> C");
  WEFT_NO_TYPE(f64, bf16, "bf16, f32, e4m3, e5m2 or i8, such as Tensor<f32, 2> C");
  WEFT_NO_TYPE(f16, f32, "f32, e4m3, e5m2 or i8, such as Tensor<f32, 2> C");
  WEFT_NO_TYPE(bf16, f32, "f32, e4m3, e5m2 or i8, such as Tensor<f32, 2> C");
  WEFT_NO_TYPE(f64, f32, "f32, e4m3, e5m2 or i8, such as Tensor<f32, 2> C; or factors of f64");
  WEFT_NO_TYPE(f16, f64, "f64, f32, e4m3, e5m2 or i8, such as Tensor<f32, 2> C");
  WEFT_NO_TYPE(bf16, f64, "f64, f32, e4m3, e5m2 or i8, such as Tensor<f32, 2> C");
  WEFT_NO_TYPE(f64, e4m3, "f16, bf16, f32, e4m3, e5m2 or i8, such as Tensor<f16, 2> C");
  WEFT_NO_TYPE(f64, i8, "f16, bf16, f32, e4m3, e5m2 or i8, such as Tensor<f16, 2> C");
  WEFT_NO_TYPE(f64, e5m2, "f16, bf16, f32, e4m3, e5m2 or i8, such as Tensor<f16, 2> C");
}
#undef WEFT_NO_TYPE

#define WEFT_TWO_TYPES(one, other)                                                                       \
  static_assert(!(std::same_as<Left, one> && std::same_as<Right, other>) &&                              \
                    !(std::same_as<Left, other> && std::same_as<Right, one>),                            \
                "weft: the factors of the sum have different element types; found: " #one " and " #other \
                "; accepted: one for both, such as Tensor<" #one ", 2> beside Tensor<" #one ", 2>")
template <class Left, class Right>
constexpr void check_rules_of_factors() {
  WEFT_TWO_TYPES(f16, bf16);
  WEFT_TWO_TYPES(f16, f32);
  WEFT_TWO_TYPES(f16, f64);
  WEFT_TWO_TYPES(bf16, f32);
  WEFT_TWO_TYPES(bf16, f64);
  WEFT_TWO_TYPES(f32, f64);
  WEFT_TWO_TYPES(i8, f16);
  WEFT_TWO_TYPES(i8, bf16);
  WEFT_TWO_TYPES(i8, f32);
  WEFT_TWO_TYPES(i8, f64);
  WEFT_TWO_TYPES(i8, e4m3);
  WEFT_TWO_TYPES(i8, e5m2);
  WEFT_TWO_TYPES(e4m3, e5m2);
  WEFT_TWO_TYPES(e4m3, f16);
  WEFT_TWO_TYPES(e4m3, bf16);
  WEFT_TWO_TYPES(e4m3, f32);
  WEFT_TWO_TYPES(e4m3, f64);
  WEFT_TWO_TYPES(e5m2, f16);
  WEFT_TWO_TYPES(e5m2, bf16);
  WEFT_TWO_TYPES(e5m2, f32);
  WEFT_TWO_TYPES(e5m2, f64);
}
#undef WEFT_TWO_TYPES

/// A sentence for each other rule: what is wrong, then what is accepted. `Found` is what breaks it, for the
/// compiler to show.
template <Broken rule, class Found>
constexpr void check_rules() {
  static_assert(rule != Broken::output_plain,
                "weft: the output is indexed with more than plain indices; found: a sum of indices in the "
                "output; accepted: an index a dimension, such as C(m, n) = ...; shift the operands "
                "instead, such as B(k, n - 1)");
  static_assert(rule != Broken::output_twice,
                "weft: an index stands twice in the output; found: the indices beside check_rules; accepted: "
                "every index once, such as C(m, n) = ...");
  static_assert(
      rule != Broken::output_reduction,
      "weft: an index that is summed over stands in the output; found: the indices beside check_rules; "
      "accepted: an output without the indices of its sum, such as C(m, n) = sum(k, A(m, k) * B(k, n))");
  static_assert(rule != Broken::reduction_twice,
                "weft: an index is summed over twice; found: the indices beside check_rules; accepted: every "
                "index once, such as sum(k, A(m, k) * B(k, n))");
  static_assert(rule != Broken::output_sparse,
                "weft: the output is sparse; found: Tensor<..., sparse> on the left side; accepted: a dense "
                "output, such as Tensor<f16, 2> C");
  static_assert(rule != Broken::factors_sparse,
                "weft: two operands are sparse, at most one may be; found: two sparse factors; "
                "accepted: a dense second one, such as Tensor<f16, 2> B");
  static_assert(rule != Broken::epilogue_sparse,
                "weft: a sparse operand stands outside of the sum; found: a Tensor<..., sparse> there; "
                "accepted: a dense one there, such as Tensor<f16, 1> bias");
  static_assert(
      rule != Broken::output_unknown,
      "weft: an index of the output is in no factor of the sum; found: the indices beside check_rules; "
      "accepted: an output whose every index a factor has, such as C(m, n) = sum(k, A(m, k) * B(k, n))");
  static_assert(
      rule != Broken::reduction_unknown,
      "weft: an index that is summed over is in no factor of the sum; found: the indices beside check_rules; "
      "accepted: a sum over indices that a factor has, such as sum(k, A(m, k) * B(k, n))");
  static_assert(rule != Broken::factor_unknown,
                "weft: an index of a factor is neither in the output nor summed over; found: the indices "
                "beside check_rules; accepted: it as an index of the output or of the sum, such as k and n "
                "in C(m, n) = sum(k, A(m, k) * B(k, n))");
  static_assert(rule != Broken::epilogue_reduction,
                "weft: an index that is summed over stands outside of the sum; found: the indices beside "
                "check_rules; accepted: indices of the output there, such as bias(m) in C(m, n) = sum(k, "
                "A(m, k) * B(k, n)) + bias(m)");
  static_assert(rule != Broken::epilogue_unknown,
                "weft: an index outside of the sum is not an index of the output; found: the indices beside "
                "check_rules; accepted: indices of the output there, such as bias(m) in C(m, n) = sum(k, "
                "A(m, k) * B(k, n)) + bias(m)");
  static_assert(rule != Broken::sparse_plain,
                "weft: the sparse operand is indexed with more than plain indices; found: a sum of indices "
                "in it; accepted: an index a dimension, such as A(m, k); sums of indices in the "
                "dense operand, such as B(2 * k, n)");
  static_assert(rule != Broken::epilogue_type,
                "weft: a tensor outside of the sum is wider than the type in which the sum runs; found: f64 "
                "beside a sum in f32; accepted: at most f32 beside factors of f16, bf16 and f32, f64 "
                "beside factors of f64");
}

template <class Output, class... Sums, class Accesses>
constexpr void check_right(const Expression<Types<Sums...>, Accesses>*) {
  // What is broken inside has been told where it broke.
  if constexpr (!has_broken_part<Output, Accesses, Sums...>) {
    static_assert(sizeof...(Sums) != 0,
                  "weft: the right side has no sum; accepted: one sum of a product of two accesses, such as "
                  "C(m, n) = sum(k, A(m, k) * B(k, n)) + D(m, n)");
    static_assert(
        sizeof...(Sums) < 2,
        "weft: an algorithm has more than one sum; accepted: one, such as C(m, n) = sum(k, A(m, k) * B(k, "
        "n)), and a second algorithm that takes its output T, C(m, n) = T(m, n) + sum(k, D(m, k) * E(k, n)), "
        "or for a product of sums C(m, n) = T(m, n) * sum(k, D(m, k) * E(k, n))");
    if constexpr (sizeof...(Sums) == 1) {
      using Asked = Rules<Output, Sums..., Accesses>;
      using Found = decltype(Asked::found());
      if constexpr (Asked::broken == Broken::sparse_matrix)
        check_rules_of_matrix<Asked::sparse_is_no_matrix, Found>();
      else if constexpr (Asked::broken == Broken::output_type)
        check_rules_of_output_type<typename Asked::OutputFacts::Element, typename Asked::Element>();
      else if constexpr (Asked::broken == Broken::factors_type)
        check_rules_of_factors<typename Asked::Element, typename Asked::RightFacts::Element>();
      else
        check_rules<Asked::broken, Found>();
    }
  }
}

Algorithm build(std::string name, const Assignment& assignment, const SourcePlace& place);

}  // namespace detail

template <class Element, Storage storage, class... Uses>
template <class Right>
Assignment Access<Element, storage, Uses...>::operator=(const Right& right) const {
  if constexpr (detail::is_tensor<Right>) detail::check_operands<Right>();
  static_assert(IsTermOrNumber<Right> || detail::is_tensor<Right> || detail::has_broken_part<Right, Uses...>,
                "weft: the right side is not an expression; accepted: a sum with what is added to it, such "
                "as C(m, n) = sum(k, A(m, k) * B(k, n)) + bias(m)");
  if constexpr (IsTermOrNumber<Right>) {
    const auto& expression = detail::as_expression(right);
    detail::check_right<Access>(&expression);
    return Assignment(value_, expression.node);
  } else {
    return Assignment();
  }
}

template <class Element, std::size_t rank, detail::StorageOf storage>
template <class Right>
Assignment Tensor<Element, rank, storage>::operator=(const Right&) const {
  static_assert(
      detail::has_broken_part<Right>,
      "weft: a tensor is assigned to without its indices; accepted: C(m, n) = sum(k, A(m, k) * B(k, n))");
  return Assignment();
}

/// The algorithm of an assignment, checked: UserError, with the caller's line, when names, sizes or strides
/// do not fit together, or when a number leaves the element type that it is computed or stored in.
/// `algorithm("linear", C(m, n) = relu(sum(k, A(m, k) * B(k, n)) + bias(m)))`
template <class Given>
Algorithm algorithm(std::string name, const Given& assignment, CallPlace place = {}) {
  static_assert(std::same_as<Given, Assignment> || detail::has_broken_part<Given>,
                "weft: an algorithm is made of an assignment such as C(m, n) = sum(k, A(m, k) * B(k, n)); "
                "accepted: algorithm(\"product\", C(m, n) = sum(k, A(m, k) * B(k, n)))");
  if constexpr (std::same_as<Given, Assignment>)
    return detail::build(std::move(name), assignment, place);
  else
    return {};
}

WEFT_CALL_REFUSED(Algorithm, algorithm, "algorithm(\"product\", C(m, n) = sum(k, A(m, k) * B(k, n)))")
/// Always refused: an algorithm begins with its name.
template <class... Rest>
Algorithm algorithm(const Assignment&, const Rest&...) {
  static_assert(detail::never<Rest...>,
                "weft: an algorithm is given no name before its assignment; accepted: algorithm(\"product\", "
                "C(m, n) = sum(k, A(m, k) * B(k, n)))");
  return {};
}

}  // namespace weft
