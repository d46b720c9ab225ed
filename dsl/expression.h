// Expressions: the right side of an algorithm. The types keep which indices stand where; the values are
// erased.
#pragma once

#include <weft/dsl/algorithm.h>
#include <weft/dsl/tensor.h>

#include <concepts>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft {

/// A number that is given at launch: `Scalar alpha("alpha")`. Scalars of one name are one scalar.
struct Scalar {
  std::string name;

  explicit Scalar(std::string scalar_name) : name(std::move(scalar_name)) {}
  template <class Never = void>
  Scalar() {
    static_assert(
        detail::never<Never>,
        "weft: a Scalar has no name; accepted: Scalar alpha(\"alpha\"), whose value is given at launch");
  }
  template <class Number>
    requires std::is_arithmetic_v<Number>
  Scalar(Number) {
    static_assert(detail::never<Number>,
                  "weft: a Scalar is made of a number; accepted: its name, Scalar alpha(\"alpha\"), since "
                  "its value is given at launch; a number that is known stands in the expression itself");
  }
};

namespace detail {

/// A term before its tensors have numbers.
struct Node {
  Term::Kind kind = Term::Kind::number;
  double number = 0;
  std::string scalar = {};
  std::vector<AccessValue> accesses = {};    ///< one of an access, two of a sum: its factors
  std::vector<std::string> reductions = {};  ///< indices that a sum runs over
  std::vector<Node> arguments = {};
};

template <class...>
struct Types {};
template <class... Left, class... Right>
Types<Left..., Right...> operator+(Types<Left...>, Types<Right...>);
/// The types of all lists, one list after the other.
template <class... Lists>
using Chained = decltype((Types<>{} + ... + Lists{}));

/// What the types know of a sum.
template <class Reductions, class Left, class Right>
struct SumOf {};
/// A sum that is none; its message has been given.
struct BrokenSum {};

/// Whether a message has been given about a part of these. What is made of them gets no further one.
template <class... Parts>
inline constexpr bool has_broken_part = std::disjunction_v<std::bool_constant<has_broken_part<Parts>>...>;
template <class Part>
inline constexpr bool has_broken_part<Part> =
    std::same_as<Part, BrokenSum> || std::same_as<Part, BrokenIndex>;
template <>
inline constexpr bool has_broken_part<NamelessIndex> = true;
template <class... Indices>
inline constexpr bool has_broken_part<IndexSum<Indices...>> = has_broken_part<Indices...>;
template <class Element, Storage storage, class... Uses>
inline constexpr bool has_broken_part<Access<Element, storage, Uses...>> = has_broken_part<Uses...>;
template <class... Parts>
inline constexpr bool has_broken_part<Types<Parts...>> = has_broken_part<Parts...>;
template <class Reductions, class Left, class Right>
inline constexpr bool has_broken_part<SumOf<Reductions, Left, Right>> = has_broken_part<Left, Right>;

}  // namespace detail

/// A product of two accesses: what a sum takes.
template <class Left, class Right>
struct Product {
  detail::AccessValue left, right;
};

/// Any other expression: its sums, and the accesses outside of them.
template <class Sums, class Accesses>
struct Expression {
  detail::Node node;

  template <class... Given>
  auto operator()(const Given&...) const {
    static_assert(detail::has_broken_part<Sums, Accesses>,
                  "weft: an expression is called; accepted: the indices of a sum and its product in one ( ), "
                  "such as sum(k, A(m, k) * B(k, n))");
    return Expression<detail::Types<detail::BrokenSum>, detail::Types<>>();
  }
};

/// A product of three accesses or more: an expression of which a sum can say what it is.
template <class Accesses>
struct LongProduct : Expression<detail::Types<>, Accesses> {};

/// `C(m, n) = sum(k, A(m, k) * B(k, n))`: the types have been checked, the values not yet.
class Assignment {
 public:
  /// One that is none; its message has been given.
  Assignment() = default;
  Assignment(detail::AccessValue output, detail::Node right)
      : output_(std::move(output)), right_(std::move(right)) {}

  const detail::AccessValue& output() const { return output_; }
  const detail::Node& right() const { return right_; }

 private:
  detail::AccessValue output_;
  detail::Node right_;
};

namespace detail {

/// An expression that is none; its message has been given.
using BrokenExpression = Expression<Types<BrokenSum>, Types<>>;

template <class Left, class Right>
inline constexpr bool has_broken_part<Product<Left, Right>> = has_broken_part<Left, Right>;
template <class Sums, class Accesses>
inline constexpr bool has_broken_part<Expression<Sums, Accesses>> = has_broken_part<Sums, Accesses>;
template <class Accesses>
inline constexpr bool has_broken_part<LongProduct<Accesses>> = has_broken_part<Accesses>;

template <class T>
inline constexpr bool is_access = false;
template <class Element, Storage storage, class... Uses>
inline constexpr bool is_access<Access<Element, storage, Uses...>> = true;
template <class T>
inline constexpr bool is_product = false;
template <class Left, class Right>
inline constexpr bool is_product<Product<Left, Right>> = true;
template <class T>
inline constexpr bool is_expression = false;
template <class Sums, class Accesses>
inline constexpr bool is_expression<Expression<Sums, Accesses>> = true;
template <class Accesses>
inline constexpr bool is_expression<LongProduct<Accesses>> = true;

/// The accesses that are multiplied; nothing of what is no product of accesses.
template <class T>
struct AccessesOfProduct {
  using Type = Types<>;
};
template <class Element, Storage storage, class... Uses>
struct AccessesOfProduct<Access<Element, storage, Uses...>> {
  using Type = Types<Access<Element, storage, Uses...>>;
};
template <class Left, class Right>
struct AccessesOfProduct<Product<Left, Right>> {
  using Type = Types<Left, Right>;
};
template <class Accesses>
struct AccessesOfProduct<LongProduct<Accesses>> {
  using Type = Accesses;
};
template <class T>
using AccessesMultiplied = typename AccessesOfProduct<T>::Type;

template <class T>
inline constexpr std::size_t number_of = 0;
template <class... Parts>
inline constexpr std::size_t number_of<Types<Parts...>> = sizeof...(Parts);

}  // namespace detail

template <class T>
concept IsAccess = detail::is_access<T>;
template <class T>
concept IsProduct = detail::is_product<T>;
/// What has a meaning of its own in an expression.
template <class T>
concept IsTerm = IsAccess<T> || IsProduct<T> || detail::is_expression<T> || std::same_as<T, Scalar>;
/// What can stand beside a term.
template <class T>
concept IsTermOrNumber = IsTerm<T> || std::is_arithmetic_v<T>;

namespace detail {

inline Node access_node(const AccessValue& access) {
  return {.kind = Term::Kind::access, .accesses = {access}};
}

template <class Number>
  requires std::is_arithmetic_v<Number>
Expression<Types<>, Types<>> as_expression(Number number) {
  return {{.number = static_cast<double>(number)}};
}
inline Expression<Types<>, Types<>> as_expression(const Scalar& scalar) {
  return {{.kind = Term::Kind::scalar, .scalar = scalar.name}};
}
template <IsAccess Operand>
Expression<Types<>, Types<Operand>> as_expression(const Operand& access) {
  return {access_node(access.value())};
}
template <class Left, class Right>
Expression<Types<>, Types<Left, Right>> as_expression(const Product<Left, Right>& product) {
  return {
      {.kind = Term::Kind::multiply, .arguments = {access_node(product.left), access_node(product.right)}}};
}
template <class Sums, class Accesses>
const Expression<Sums, Accesses>& as_expression(const Expression<Sums, Accesses>& expression) {
  return expression;
}

template <class LeftSums, class LeftAccesses, class RightSums, class RightAccesses>
Expression<Chained<LeftSums, RightSums>, Chained<LeftAccesses, RightAccesses>> combined(
    Term::Kind kind, const Expression<LeftSums, LeftAccesses>& left,
    const Expression<RightSums, RightAccesses>& right) {
  return {{.kind = kind, .arguments = {left.node, right.node}}};
}
template <class Sums, class Accesses>
Expression<Sums, Accesses> applied(Term::Kind kind, const Expression<Sums, Accesses>& argument) {
  return {{.kind = kind, .arguments = {argument.node}}};
}

/// The indices of a sum and what is summed: `Rest` without its last, and the last.
template <class Front, class... Rest>
struct SplitLast {
  using Indices = Types<>;
  using Summand = void;
};
template <class... Front, class Last>
struct SplitLast<Types<Front...>, Last> {
  using Indices = Types<Front...>;
  using Summand = Last;
};
template <class... Front, class Next, class After, class... Rest>
struct SplitLast<Types<Front...>, Next, After, Rest...> : SplitLast<Types<Front..., Next>, After, Rest...> {};

template <class... Indices>
constexpr bool all_indices(Types<Indices...>) {
  return sizeof...(Indices) > 0 && (is_index<Indices> && ...);
}

template <class... Indices, class Left, class Right>
Expression<Types<SumOf<Types<Indices...>, Left, Right>>, Types<>> sum_of(
    Types<Indices...>, const Product<Left, Right>& product) {
  return {{.kind = Term::Kind::sum,
           .accesses = {product.left, product.right},
           .reductions = {Indices::text()...}}};
}

}  // namespace detail

template <class Left, class Right>
concept Combinable = IsTermOrNumber<Left> && IsTermOrNumber<Right> && (IsTerm<Left> || IsTerm<Right>);

template <class Left, class Right>
  requires Combinable<Left, Right>
auto operator+(const Left& left, const Right& right) {
  return detail::combined(Term::Kind::add, detail::as_expression(left), detail::as_expression(right));
}
template <class Left, class Right>
  requires Combinable<Left, Right>
auto operator-(const Left& left, const Right& right) {
  return detail::combined(Term::Kind::subtract, detail::as_expression(left), detail::as_expression(right));
}
template <class Left, class Right>
  requires Combinable<Left, Right>
auto operator*(const Left& left, const Right& right) {
  using LeftAccesses = detail::AccessesMultiplied<Left>;
  using RightAccesses = detail::AccessesMultiplied<Right>;
  if constexpr (IsAccess<Left> && IsAccess<Right>) {
    return Product<Left, Right>{left.value(), right.value()};
  } else {
    const auto product =
        detail::combined(Term::Kind::multiply, detail::as_expression(left), detail::as_expression(right));
    if constexpr (detail::number_of<LeftAccesses> > 0 && detail::number_of<RightAccesses> > 0)
      return LongProduct<detail::Chained<LeftAccesses, RightAccesses>>{product};
    else
      return product;
  }
}

/// By what holds no sum.
template <class Left, class Right>
  requires Combinable<Left, Right>
auto operator/(const Left& left, const Right& right) {
  return detail::combined(Term::Kind::divide, detail::as_expression(left), detail::as_expression(right));
}
/// left < right ? right : left, of which the left one may be a NaN that stays one.
template <class Left, class Right>
  requires Combinable<Left, Right>
auto max(const Left& left, const Right& right) {
  return detail::combined(Term::Kind::maximum, detail::as_expression(left), detail::as_expression(right));
}
/// right < left ? right : left
template <class Left, class Right>
  requires Combinable<Left, Right>
auto min(const Left& left, const Right& right) {
  return detail::combined(Term::Kind::minimum, detail::as_expression(left), detail::as_expression(right));
}
/// min(max(x, least), most): clamp(x, 0, 6) is ReLU6.
template <IsTerm Argument, IsTermOrNumber Least, IsTermOrNumber Most>
auto clamp(const Argument& x, const Least& least, const Most& most) {
  return min(max(x, least), most);
}

#define WEFT_FUNCTION(name)                                                    \
  template <IsTerm Argument>                                                   \
  auto name(const Argument& argument) {                                        \
    return detail::applied(Term::Kind::name, detail::as_expression(argument)); \
  }
/// max(x, 0); a NaN stays a NaN.
WEFT_FUNCTION(relu)
/// x / 2 * (1 + erf(x / sqrt 2))
WEFT_FUNCTION(gelu)
WEFT_FUNCTION(tanh)
/// 1 / (1 + exp(-x))
WEFT_FUNCTION(sigmoid)
/// x * sigmoid(x), which is called Swish, too.
WEFT_FUNCTION(silu)
#undef WEFT_FUNCTION

namespace detail {

#define WEFT_NO_SUMMAND(holds, found)                                                                        \
  static_assert(!(holds), "weft: a sum takes a product of two accesses; found: " found                       \
                          "; accepted: sum(k, A(m, k) * B(k, n)), with Scalars, numbers and tensors "        \
                          "without k outside of it, such as alpha * sum(k, A(m, k) * B(k, n)) + bias(m); a " \
                          "tensor with k multiplied into the values of A or B before")
/// A sentence for each thing that a sum may be given in place of its product.
template <class Summand>
constexpr void check_summand() {
  constexpr std::size_t factors = number_of<AccessesMultiplied<Summand>>;
  constexpr bool number = std::is_arithmetic_v<Summand> || std::same_as<Summand, Scalar>;
  constexpr bool expression = IsTerm<Summand> && factors == 0 && !number;
  WEFT_NO_SUMMAND(factors == 1, "one access alone");
  WEFT_NO_SUMMAND(factors == 3, "a product of three accesses");
  WEFT_NO_SUMMAND(factors > 3, "a product of four accesses or more");
  WEFT_NO_SUMMAND(number, "a number or a Scalar, and no access");
  WEFT_NO_SUMMAND(expression, "an expression that is more than a product of two accesses");
  WEFT_NO_SUMMAND(is_index<Summand>, "indices, and no product behind them");
  WEFT_NO_SUMMAND(factors == 0 && !number && !expression && !is_index<Summand>,
                  "what is no part of an expression, such as a tensor without its indices");
}
#undef WEFT_NO_SUMMAND

}  // namespace detail

/// `sum(c, r, s, W(f, c, r, s) * I(c, p + r, q + s))`: indices, then the product that is summed over them.
template <class... Arguments>
auto sum(const Arguments&... arguments) {
  using Split = detail::SplitLast<detail::Types<>, Arguments...>;
  using Indices = typename Split::Indices;
  constexpr bool told = detail::has_broken_part<Arguments...>;
  constexpr bool indices = detail::all_indices(Indices{});
  constexpr bool product = IsProduct<typename Split::Summand>;
  static_assert(told || indices,
                "weft: a sum takes one index or more before its product; found: the types beside Arguments; "
                "accepted: indices of WEFT_INDEX, "
                "then the product, such as sum(k, A(m, k) * B(k, n))");
  if constexpr (!told && indices && !product) detail::check_summand<typename Split::Summand>();
  if constexpr (!told && indices && product)
    return detail::sum_of(Indices{}, std::get<sizeof...(Arguments) - 1>(std::tie(arguments...)));
  else
    return detail::BrokenExpression{};
}

}  // namespace weft
