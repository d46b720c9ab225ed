// What a user may write that the language does not have. Each is refused with one sentence, which says how it
// is written instead, where the compiler would list all that it tried.
#pragma once

#include <weft/dsl/expression.h>
#include <weft/dsl/index.h>
#include <weft/dsl/tensor.h>

#include <concepts>
#include <initializer_list>
#include <type_traits>

namespace weft {
namespace detail {

template <class T>
inline constexpr bool is_tensor = false;
template <class Element, std::size_t rank, StorageOf storage>
inline constexpr bool is_tensor<Tensor<Element, rank, storage>> = true;

/// A term, or a tensor that was meant to be one.
template <class T>
concept MeantAsTerm = IsTerm<T> || is_tensor<T>;
template <class... Operands>
concept AnyMeantAsTerm = (MeantAsTerm<Operands> || ...);
/// Arithmetic of a term and something else that has none: a tensor without indices, an index.
template <class Left, class Right>
concept NotCombinable = AnyMeantAsTerm<Left, Right> && !Combinable<Left, Right>;

template <class Left, class Right>
concept AnyIndex = (IndexExpression<Left> && (IndexExpression<Right> || std::is_arithmetic_v<Right>)) ||
                   (std::is_arithmetic_v<Left> && IndexExpression<Right>);
template <class Left, class Right>
concept BothIndices = IndexExpression<Left> && IndexExpression<Right>;
template <class Left, class Right>
concept IndexAndFraction = AnyIndex<Left, Right> && (std::floating_point<Left> || std::floating_point<Right>);
template <class Argument>
concept OneIndex = IndexExpression<Argument>;
template <class Argument>
concept TensorOrIndex = is_tensor<Argument> || IndexExpression<Argument>;

using BrokenIndexSum = IndexSum<BrokenIndex>;
/// What a comparison gives back, of which the message has been given.
struct BrokenCondition {
  explicit operator bool() const { return false; }
};
template <>
inline constexpr bool has_broken_part<BrokenCondition> = true;

/// Not of a stream on the left, which prints.
template <class Left, class Right>
concept LeftMeantAsTerm = MeantAsTerm<Left>;

/// A sentence for what stands in an expression and is no part of the language.
template <class... Operands>
constexpr void check_operands() {
  constexpr bool told = has_broken_part<Operands...>;
  constexpr bool tensor = (is_tensor<Operands> || ...);
  constexpr bool index = (IndexExpression<Operands> || ...);
  static_assert(told || !tensor,
                "weft: a tensor stands in an expression without its indices; accepted: an index a dimension, "
                "such as A(m, k), as in C(m, n) = sum(k, A(m, k) * B(k, n))");
  static_assert(told || tensor || !index,
                "weft: an index is used as a number; accepted: a tensor over that index that holds the "
                "numbers, such as position(m)");
  static_assert(told || tensor || index,
                "weft: a part of an expression is nothing of the language; accepted: sums, accesses such as "
                "bias(m), Scalars, and numbers of C++ such as 0.5");
}

}  // namespace detail

// An operator or a function of this name is always refused, but told only once: not where an operand was.
#define WEFT_REFUSED_BINARY(constraint, sign, result, sentence)             \
  template <class Left, class Right>                                        \
    requires detail::constraint<Left, Right>                                \
  result operator sign(const Left&, const Right&) {                         \
    static_assert(detail::has_broken_part<Left, Right>, "weft: " sentence); \
    return result();                                                        \
  }
#define WEFT_REFUSED_UNARY(constraint, sign, result, sentence)           \
  template <class Argument>                                              \
    requires detail::constraint<Argument>                                \
  result operator sign(const Argument&) {                                \
    static_assert(detail::has_broken_part<Argument>, "weft: " sentence); \
    return result();                                                     \
  }
#define WEFT_REFUSED_FUNCTION(name, instead)                                            \
  template <class... Arguments>                                                         \
    requires detail::AnyMeantAsTerm<Arguments...>                                       \
  detail::BrokenExpression name(const Arguments&...) {                                  \
    static_assert(detail::has_broken_part<Arguments...>,                                \
                  "weft: an algorithm has no operation " #name "; accepted: " instead); \
    return {};                                                                          \
  }

// ---- in an index ----

WEFT_REFUSED_BINARY(
    BothIndices, *, detail::BrokenIndexSum,
    "two indices are multiplied; accepted: sums of integers times indices, such as I(2 * p + r - 1)")
#define WEFT_BLOCKS                                                                                        \
  "accepted: sums of integers times indices; instead of f an index over blocks of 32 and one inside of a " \
  "block, "                                                                                                \
  "each with a dimension of its own, "
WEFT_REFUSED_BINARY(AnyIndex, /, detail::BrokenIndexSum,
                    "an index is divided; " WEFT_BLOCKS
                    "such as S(block) beside W(block, inside) for S(f / 32) beside W(f); or an operand that "
                    "repeats its elements, as an image scaled up before: S(f) for S(f / 2)")
WEFT_REFUSED_BINARY(AnyIndex, %, detail::BrokenIndexSum,
                    "the rest of an index is taken; " WEFT_BLOCKS
                    "such as S(inside) beside W(block, inside) for S(f % 32) beside W(f)")
#undef WEFT_BLOCKS
#define WEFT_NO_FRACTION "a number in an index has a fraction; accepted: integers, such as I(2 * p + r - 1)"
WEFT_REFUSED_BINARY(IndexAndFraction, +, detail::BrokenIndexSum, WEFT_NO_FRACTION)
WEFT_REFUSED_BINARY(IndexAndFraction, -, detail::BrokenIndexSum, WEFT_NO_FRACTION)
WEFT_REFUSED_BINARY(IndexAndFraction, *, detail::BrokenIndexSum, WEFT_NO_FRACTION)
#undef WEFT_NO_FRACTION
#define WEFT_NO_COMPARISON                                                                                 \
  "indices are compared, and an algorithm has no conditions; accepted: sums of indices such as I(p + r - " \
  "1), of "                                                                                                \
  "which places outside of the tensor read as zero"
WEFT_REFUSED_BINARY(AnyIndex, <, detail::BrokenIndexSum, WEFT_NO_COMPARISON)
WEFT_REFUSED_BINARY(AnyIndex, >, detail::BrokenIndexSum, WEFT_NO_COMPARISON)
WEFT_REFUSED_BINARY(AnyIndex, <=, detail::BrokenIndexSum, WEFT_NO_COMPARISON)
WEFT_REFUSED_BINARY(AnyIndex, >=, detail::BrokenIndexSum, WEFT_NO_COMPARISON)
WEFT_REFUSED_BINARY(AnyIndex, ==, detail::BrokenIndexSum,
                    WEFT_NO_COMPARISON "; in a step one =, such as .split(n = 64)")
WEFT_REFUSED_BINARY(AnyIndex, !=, detail::BrokenIndexSum, WEFT_NO_COMPARISON)
#undef WEFT_NO_COMPARISON
WEFT_REFUSED_UNARY(OneIndex, -, detail::BrokenIndexSum,
                   "an index is negated; accepted: a number before it, such as I(7 - p) or I(-1 * p + 7)")
#define WEFT_NO_BITS                                                                                         \
  "bits or the truth of an index are taken, and an algorithm has no conditions; accepted: sums of integers " \
  "times indices, such as I(2 * p + r - 1)"
WEFT_REFUSED_BINARY(AnyIndex, <<, detail::BrokenIndexSum, WEFT_NO_BITS)
WEFT_REFUSED_BINARY(AnyIndex, >>, detail::BrokenIndexSum, WEFT_NO_BITS)
WEFT_REFUSED_BINARY(AnyIndex, &, detail::BrokenIndexSum, WEFT_NO_BITS)
WEFT_REFUSED_BINARY(AnyIndex, |, detail::BrokenIndexSum, WEFT_NO_BITS)
WEFT_REFUSED_BINARY(AnyIndex, ^, detail::BrokenIndexSum, WEFT_NO_BITS)
WEFT_REFUSED_BINARY(AnyIndex, &&, detail::BrokenIndexSum, WEFT_NO_BITS)
WEFT_REFUSED_BINARY(AnyIndex, ||, detail::BrokenIndexSum, WEFT_NO_BITS)
WEFT_REFUSED_UNARY(OneIndex, !, detail::BrokenIndexSum, WEFT_NO_BITS)
WEFT_REFUSED_UNARY(OneIndex, ~, detail::BrokenIndexSum, WEFT_NO_BITS)
#undef WEFT_NO_BITS
#define WEFT_NO_END                                                                                        \
  "the greater or the lesser of two indices is taken; accepted: sums of indices such as I(p + r - 1), of " \
  "which "                                                                                                 \
  "places outside of the tensor read as zero"
#define WEFT_REFUSED_END(name)                                       \
  template <class Left, class Right>                                 \
    requires detail::AnyIndex<Left, Right>                           \
  detail::BrokenIndexSum name(const Left&, const Right&) {           \
    static_assert(detail::never<Left, Right>, "weft: " WEFT_NO_END); \
    return {};                                                       \
  }
WEFT_REFUSED_END(max)
WEFT_REFUSED_END(min)
#undef WEFT_REFUSED_END
#undef WEFT_NO_END

// ---- in an expression ----

#define WEFT_ASSIGNMENT "C(m, n) = sum(k, A(m, k) * B(k, n))"

#define WEFT_REFUSED_OPERANDS(sign)               \
  template <class Left, class Right>              \
    requires detail::NotCombinable<Left, Right>   \
  auto operator sign(const Left&, const Right&) { \
    detail::check_operands<Left, Right>();        \
    return detail::BrokenExpression();            \
  }
WEFT_REFUSED_OPERANDS(+)
WEFT_REFUSED_OPERANDS(-)
WEFT_REFUSED_OPERANDS(*)
WEFT_REFUSED_OPERANDS(/)
#undef WEFT_REFUSED_OPERANDS

#define WEFT_REFUSED_PAIR(name)                 \
  template <class Left, class Right>            \
    requires detail::NotCombinable<Left, Right> \
  auto name(const Left&, const Right&) {        \
    detail::check_operands<Left, Right>();      \
    return detail::BrokenExpression();          \
  }
WEFT_REFUSED_PAIR(max)
WEFT_REFUSED_PAIR(min)
#undef WEFT_REFUSED_PAIR

#define WEFT_REFUSED_ARGUMENT(name)         \
  template <detail::TensorOrIndex Argument> \
  auto name(const Argument&) {              \
    detail::check_operands<Argument>();     \
    return detail::BrokenExpression();      \
  }
WEFT_REFUSED_ARGUMENT(relu)
WEFT_REFUSED_ARGUMENT(gelu)
WEFT_REFUSED_ARGUMENT(tanh)
WEFT_REFUSED_ARGUMENT(sigmoid)
WEFT_REFUSED_ARGUMENT(silu)
#undef WEFT_REFUSED_ARGUMENT

#define WEFT_REFUSED_COUNT(name, count, written)                                                        \
  template <detail::MeantAsTerm Argument, class... Others>                                              \
    requires(sizeof...(Others) != count)                                                                \
  auto name(const Argument&, const Others&...) {                                                        \
    static_assert(detail::has_broken_part<Argument, Others...>,                                         \
                  "weft: " #name                                                                        \
                  " takes another number of expressions; found: the types beside Argument and Others; " \
                  "accepted: " written);                                                                \
    return detail::BrokenExpression();                                                                  \
  }
WEFT_REFUSED_COUNT(relu, 0, "relu(x); with an upper end, as of ReLU6, clamp(x, 0, 6)")
WEFT_REFUSED_COUNT(gelu, 0, "gelu(x), which is x / 2 * (1 + erf(x / sqrt 2)) and no approximation of it")
WEFT_REFUSED_COUNT(tanh, 0, "tanh(x)")
WEFT_REFUSED_COUNT(sigmoid, 0, "sigmoid(x)")
WEFT_REFUSED_COUNT(silu, 0, "silu(x), which is x * sigmoid(x)")
WEFT_REFUSED_COUNT(max, 1, "max(x, y); of more than two, max(max(x, y), z)")
WEFT_REFUSED_COUNT(min, 1, "min(x, y); of more than two, min(min(x, y), z)")
WEFT_REFUSED_COUNT(clamp, 2, "clamp(x, least, most), or max(x, least) with one end alone")
#undef WEFT_REFUSED_COUNT
template <class Argument, class Least, class Most>
  requires detail::AnyMeantAsTerm<Argument, Least, Most> &&
           (!IsTermOrNumber<Argument> || !IsTermOrNumber<Least> || !IsTermOrNumber<Most>)
auto clamp(const Argument&, const Least&, const Most&) {
  detail::check_operands<Argument, Least, Most>();
  return detail::BrokenExpression();
}

template <class... Rest>
auto sum(std::initializer_list<LoopName>, const Rest&...) {
  static_assert(detail::never<Rest...>,
                "weft: the indices of a sum stand in braces; accepted: the indices alone, such as sum(r, s, "
                "W(f, r, s) * I(p + r, q + s))");
  return detail::BrokenExpression();
}

#define WEFT_OPERATIONS                                                                                      \
  "x + y, x - y, x * y, x / y, max(x, y), min(x, y), clamp(x, a, b), relu(x), gelu(x), tanh(x), sigmoid(x) " \
  "and silu(x)"
WEFT_REFUSED_BINARY(AnyMeantAsTerm, %, detail::BrokenExpression,
                    "the rest of an expression is taken; accepted: " WEFT_OPERATIONS)
WEFT_REFUSED_BINARY(AnyMeantAsTerm, ^, detail::BrokenExpression,
                    "^ stands in an expression; accepted: " WEFT_OPERATIONS)
#define WEFT_NO_TRUTH "bits or the truth of an expression are taken; accepted: " WEFT_OPERATIONS
WEFT_REFUSED_BINARY(LeftMeantAsTerm, <<, detail::BrokenExpression, WEFT_NO_TRUTH)
WEFT_REFUSED_BINARY(LeftMeantAsTerm, >>, detail::BrokenExpression, WEFT_NO_TRUTH)
WEFT_REFUSED_BINARY(AnyMeantAsTerm, &, detail::BrokenExpression, WEFT_NO_TRUTH)
WEFT_REFUSED_BINARY(AnyMeantAsTerm, |, detail::BrokenExpression, WEFT_NO_TRUTH)
WEFT_REFUSED_BINARY(AnyMeantAsTerm, &&, detail::BrokenExpression, WEFT_NO_TRUTH)
WEFT_REFUSED_BINARY(AnyMeantAsTerm, ||, detail::BrokenExpression, WEFT_NO_TRUTH)
WEFT_REFUSED_UNARY(MeantAsTerm, !, detail::BrokenExpression, WEFT_NO_TRUTH)
WEFT_REFUSED_UNARY(MeantAsTerm, ~, detail::BrokenExpression, WEFT_NO_TRUTH)
#undef WEFT_NO_TRUTH
WEFT_REFUSED_UNARY(MeantAsTerm, -, detail::BrokenExpression,
                   "an expression is negated; accepted: -1 * x instead of -x")
WEFT_REFUSED_UNARY(MeantAsTerm, +, detail::BrokenExpression,
                   "a + stands before an expression; accepted: x instead of +x")

#define WEFT_NO_CONDITION                                                                              \
  "an expression is compared, and an algorithm has no conditions; accepted: max(x, y), min(x, y) and " \
  "relu(x), which are weft's own: without std::"
WEFT_REFUSED_BINARY(AnyMeantAsTerm, <, detail::BrokenCondition, WEFT_NO_CONDITION)
WEFT_REFUSED_BINARY(AnyMeantAsTerm, >, detail::BrokenCondition, WEFT_NO_CONDITION)
WEFT_REFUSED_BINARY(AnyMeantAsTerm, <=, detail::BrokenCondition, WEFT_NO_CONDITION)
WEFT_REFUSED_BINARY(AnyMeantAsTerm, >=, detail::BrokenCondition, WEFT_NO_CONDITION)
WEFT_REFUSED_BINARY(AnyMeantAsTerm, !=, detail::BrokenCondition, WEFT_NO_CONDITION)
#undef WEFT_NO_CONDITION

WEFT_REFUSED_FUNCTION(fmax, "max(x, y)")
WEFT_REFUSED_FUNCTION(fmaxf, "max(x, y)")
WEFT_REFUSED_FUNCTION(maximum, "max(x, y)")
WEFT_REFUSED_FUNCTION(fmin, "min(x, y)")
WEFT_REFUSED_FUNCTION(fminf, "min(x, y)")
WEFT_REFUSED_FUNCTION(minimum, "min(x, y)")
WEFT_REFUSED_FUNCTION(tanhf, "tanh(x)")
WEFT_REFUSED_FUNCTION(swish, "silu(x)")
WEFT_REFUSED_FUNCTION(relu6, "clamp(x, 0, 6)")
WEFT_REFUSED_FUNCTION(erf, "gelu(x), which is x / 2 * (1 + erf(x / sqrt 2))")
WEFT_REFUSED_FUNCTION(matmul, WEFT_ASSIGNMENT)
WEFT_REFUSED_FUNCTION(dot, WEFT_ASSIGNMENT)
WEFT_REFUSED_FUNCTION(fabs, WEFT_OPERATIONS)
WEFT_REFUSED_FUNCTION(expf, WEFT_OPERATIONS)
WEFT_REFUSED_FUNCTION(abs, WEFT_OPERATIONS)
WEFT_REFUSED_FUNCTION(exp, WEFT_OPERATIONS)
WEFT_REFUSED_FUNCTION(log, WEFT_OPERATIONS)
WEFT_REFUSED_FUNCTION(sqrt, WEFT_OPERATIONS)
WEFT_REFUSED_FUNCTION(pow, WEFT_OPERATIONS)
WEFT_REFUSED_FUNCTION(leaky_relu, WEFT_OPERATIONS)
WEFT_REFUSED_FUNCTION(softmax, WEFT_OPERATIONS)
WEFT_REFUSED_FUNCTION(select, WEFT_OPERATIONS)
WEFT_REFUSED_FUNCTION(where, WEFT_OPERATIONS)
WEFT_REFUSED_FUNCTION(if_then_else, WEFT_OPERATIONS)
#undef WEFT_OPERATIONS

// ---- in place of an index ----

/// As Halide and TVM declare one. It counts as an index about which a message has been given, so that what is
/// indexed with it gets none.
struct Var : detail::NamelessIndex {
  template <class... Given>
    requires(!(std::same_as<Given, Var> || ...))
  Var(const Given&...) : detail::NamelessIndex(detail::refused_result<detail::NamelessIndex>()) {
    static_assert(detail::never<Given...>, "weft: there is no Var; accepted: WEFT_INDEX(m, n, k);");
  }
  using detail::NamelessIndex::operator=;
};
namespace detail {

template <>
inline constexpr bool is_index<Var> = true;
template <>
inline constexpr bool has_broken_part<Var> = true;

}  // namespace detail

// ---- in place of an assignment ----

WEFT_REFUSED_BINARY(AnyMeantAsTerm, ==, Assignment,
                    "an algorithm is assigned with ==; accepted: one =, such as " WEFT_ASSIGNMENT)
WEFT_REFUSED_BINARY(AnyMeantAsTerm, +=, Assignment,
                    "an output is changed with +=; accepted: " WEFT_ASSIGNMENT " + C(m, n)")
WEFT_REFUSED_BINARY(AnyMeantAsTerm, -=, Assignment,
                    "an output is changed with -=; accepted: C(m, n) = C(m, n) - sum(k, A(m, k) * B(k, n))")
WEFT_REFUSED_BINARY(AnyMeantAsTerm, *=, Assignment,
                    "an output is changed with *=; accepted: C(m, n) = C(m, n) * sum(k, A(m, k) * B(k, n))")
WEFT_REFUSED_BINARY(AnyMeantAsTerm, /=, Assignment,
                    "an output is changed with /=; accepted: the reciprocal in the algorithm, such as C(m, "
                    "n) = 0.5 * sum(k, A(m, k) * B(k, n))")
#undef WEFT_ASSIGNMENT

#undef WEFT_REFUSED_BINARY
#undef WEFT_REFUSED_UNARY
#undef WEFT_REFUSED_FUNCTION

}  // namespace weft
