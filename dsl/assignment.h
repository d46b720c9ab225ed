// The language in one header: output(indices) = expression becomes an Algorithm.
#pragma once

#include <weft/dsl/algorithm.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/expression.h>
#include <weft/dsl/index.h>
#include <weft/dsl/rules.h>
#include <weft/dsl/tensor.h>

#include <source_location>
#include <string>
#include <type_traits>
#include <utility>

namespace weft {

/// `C(m, n) = sum(k, A(m, k) * B(k, n))`: the types have been checked, the values not yet.
class Assignment {
 public:
  Assignment(detail::AccessValue output, detail::Node right)
      : output_(std::move(output)), right_(std::move(right)) {}

  const detail::AccessValue& output() const { return output_; }
  const detail::Node& right() const { return right_; }

 private:
  detail::AccessValue output_;
  detail::Node right_;
};

/// `output = right` keeps every rule that types decide.
template <class Output, class Right>
concept Assignable = IsAccess<Output> && IsTermOrNumber<Right> && detail::RulesOf<Output, Right>::all;

namespace detail {

template <Broken rule>
constexpr void check_rules() {
  static_assert(rule != Broken::output_plain, "weft: the output is indexed with more than plain indices");
  static_assert(rule != Broken::output_twice, "weft: an index stands twice in the output");
  static_assert(rule != Broken::output_reduction, "weft: an index that is summed over stands in the output");
  static_assert(rule != Broken::reduction_twice, "weft: an index is summed over twice");
  static_assert(rule != Broken::output_sparse, "weft: the output is sparse");
  static_assert(rule != Broken::factors_sparse, "weft: two operands are sparse, at most one may be");
  static_assert(rule != Broken::epilogue_sparse, "weft: a sparse operand stands outside of the sum");
  static_assert(rule != Broken::output_unknown, "weft: an index of the output is in no factor of the sum");
  static_assert(rule != Broken::reduction_unknown,
                "weft: an index that is summed over is in no factor of the sum");
  static_assert(rule != Broken::factor_unknown,
                "weft: an index of a factor is neither in the output nor summed over");
  static_assert(rule != Broken::epilogue_reduction,
                "weft: an index that is summed over stands outside of the sum");
  static_assert(rule != Broken::epilogue_unknown,
                "weft: an index outside of the sum is not an index of the output");
  static_assert(rule != Broken::sparse_plain,
                "weft: the sparse operand is indexed with more than plain indices");
  static_assert(rule != Broken::sparse_matrix,
                "weft: the sparse operand is not indexed with output indices first, then every index that is "
                "summed over");
  static_assert(rule != Broken::factors_type, "weft: the factors of the sum have different element types");
  static_assert(rule != Broken::output_type,
                "weft: the output's element type is neither the factors' nor f32");
  static_assert(rule != Broken::epilogue_type,
                "weft: a tensor outside of the sum is wider than the type in which the sum runs");
}

template <class Output, class... Sums, class Accesses>
constexpr void check_right(const Expression<Types<Sums...>, Accesses>*) {
  static_assert(sizeof...(Sums) != 0, "weft: the right side has no sum");
  static_assert(sizeof...(Sums) < 2, "weft: an algorithm has more than one sum");
  // What is broken inside has been told where it broke.
  if constexpr (sizeof...(Sums) == 1 && !has_broken_part<Output, Accesses, Sums...>) {
    check_rules<Rules<Output, Sums..., Accesses>::broken>();
  }
}

Algorithm build(std::string name, const Assignment& assignment, const SourcePlace& place);

}  // namespace detail

template <class Element, Storage storage, class... Uses>
template <class Right>
Assignment Access<Element, storage, Uses...>::operator=(const Right& right) const {
  static_assert(IsTermOrNumber<Right>, "weft: the right side is not an expression");
  if constexpr (IsTermOrNumber<Right>) {
    const auto& expression = detail::as_expression(right);
    detail::check_right<Access>(&expression);
    return {value_, expression.node};
  } else {
    return {value_, {}};
  }
}

/// The algorithm of an assignment, checked: UserError, with the caller's line, when names, sizes or strides
/// do not fit together. `algorithm("linear", C(m, n) = relu(sum(k, A(m, k) * B(k, n)) + bias(m)))`
template <class Given>
Algorithm algorithm(std::string name, const Given& assignment,
                    std::source_location place = std::source_location::current()) {
  static_assert(std::same_as<Given, Assignment>,
                "weft: an algorithm is made of an assignment such as C(m, n) = sum(k, A(m, k) * B(k, n))");
  if constexpr (std::same_as<Given, Assignment>) {
    return detail::build(std::move(name), assignment, place);
  } else {
    return {};
  }
}

}  // namespace weft
