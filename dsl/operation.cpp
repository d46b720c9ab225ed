#include <weft/dsl/operation.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace weft {
namespace {

using Kind = Term::Kind;

/// 1 / (1 + exp(-x))
double logistic(double x) {
  return 1 / (1 + std::exp(-x));
}

// What x has of an error, the result has times its slope there; what is rounded on the way counts for itself.
constexpr double largest_slope_of_silu = 1.1;

constexpr std::array all{
    Operation{Kind::add, "+", 2, 1,
              [](Sized x, Sized y) { return Sized{x.value + y.value, x.size + y.size}; }},
    Operation{Kind::subtract, "-", 2, 1,
              [](Sized x, Sized y) { return Sized{x.value - y.value, x.size + y.size}; }},
    Operation{Kind::multiply, "*", 2, 2,
              [](Sized x, Sized y) { return Sized{x.value * y.value, x.size * y.size}; }},
    Operation{Kind::divide, "/", 2, 2,
              [](Sized x, Sized y) {
                const double quotient = x.value / y.value;
                return Sized{quotient, (x.size + std::abs(quotient) * y.size) / std::abs(y.value)};
              }},
    Operation{Kind::maximum, "max", 2, 3,
              [](Sized x, Sized y) {
                return Sized{x.value < y.value ? y.value : x.value, std::max(x.size, y.size)};
              }},
    Operation{Kind::minimum, "min", 2, 3,
              [](Sized x, Sized y) {
                return Sized{y.value < x.value ? y.value : x.value, std::max(x.size, y.size)};
              }},
    Operation{Kind::relu, "relu", 1, 3,
              [](Sized x, Sized) { return Sized{x.value < 0 ? 0 : x.value, x.size}; }},
    // 1 + erf cancels for negative x, so the error is one of x itself.
    Operation{Kind::gelu, "gelu", 1, 3,
              [](Sized x, Sized) {
                return Sized{0.5 * x.value * (1 + std::erf(x.value * std::sqrt(0.5))),
                             x.size + std::abs(x.value)};
              }},
    Operation{Kind::tanh, "tanh", 1, 3,
              [](Sized x, Sized) {
                const double result = std::tanh(x.value);
                return Sized{result, x.size + std::abs(result)};
              }},
    // (1 + tanh(x / 2)) / 2 cancels for negative x.
    Operation{Kind::sigmoid, "sigmoid", 1, 3,
              [](Sized x, Sized) { return Sized{logistic(x.value), x.size / 4 + 1}; }},
    Operation{Kind::silu, "silu", 1, 3, [](Sized x, Sized) {
                return Sized{x.value * logistic(x.value), largest_slope_of_silu * x.size + std::abs(x.value)};
              }}};

}  // namespace

std::span<const Operation> operations() {
  return all;
}

const Operation* operation_of(Term::Kind kind) {
  const auto* found = std::ranges::find(all, kind, &Operation::kind);
  return found == all.end() ? nullptr : found;
}

}  // namespace weft
