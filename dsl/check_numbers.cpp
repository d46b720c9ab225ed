#include <fmt/format.h>
#include <weft/dsl/check_parts.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/operation.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft {
namespace {

/// The finite numbers of a floating type.
struct Range {
  double least;  ///< above 0
  double most;
};

Range range_of(DType dtype) {
  switch (dtype) {
    case DType::f16: return {std::ldexp(1.0, -24), 65504};
    case DType::bf16: return {std::ldexp(1.0, -133), std::ldexp(255.0, 120)};
    case DType::e4m3: return {std::ldexp(1.0, -9), 448};
    case DType::e5m2: return {std::ldexp(1.0, -16), 57344};
    case DType::i8: return {1, 127};
    case DType::f64: return {std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max()};
    default: return {std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::max()};
  }
}

std::string text_of_range(DType dtype) {
  return fmt::format("{} holds numbers up to {:.5g}", name_of(dtype), range_of(dtype).most);
}

class Numbers {
 public:
  Numbers(const Algorithm& algorithm, const std::string& where) : algorithm_(algorithm), where_(where) {}

  void run() const {
    const double result = value(algorithm_.result);
    const Operand& output = algorithm_.operands[algorithm_.output.operand];
    if (std::abs(result) <= range_of(output.dtype).most) return;
    const bool f32_holds_it = output.dtype != DType::f32 && std::abs(result) <= range_of(DType::f32).most;
    throw UserError(
        "the result leaves the element type of the output", where_,
        fmt::format("{:.7g} where every tensor is 0, stored to {} as {}, which holds numbers up to {:.5g}",
                    result, output.name, name_of(output.dtype), range_of(output.dtype).most),
        std::string(f32_holds_it ? "an output of f32, or " : "") + "smaller numbers beside the sum");
  }

 private:
  /// The term where every tensor and every scalar is 0.
  double value(const Term& term) const {
    switch (term.kind) {
      case Term::Kind::number: check(term.number); return term.number;
      case Term::Kind::sum:
      case Term::Kind::scalar:
      case Term::Kind::access: return 0;
      default: break;
    }
    const auto argument = [&](std::size_t i) {
      return i < term.arguments.size() ? Sized{value(term.arguments[i]), 0} : Sized{};
    };
    const Sized x = argument(0), y = argument(1);
    // By a tensor or a scalar: what they are is not known.
    if (term.kind == Term::Kind::divide && y.value == 0) return 0;
    return kept(operation_of(term.kind)->result(x, y).value);
  }

  /// A number as the user wrote it.
  void check(double number) const {
    const Range range = range_of(algorithm_.accumulator);
    const std::string type(name_of(algorithm_.accumulator));
    if (!std::isfinite(number))
      throw UserError("a number is not finite", where_, fmt::format("{}", number),
                      fmt::format("numbers from {:.5g} to {:.5g}", -range.most, range.most));
    if (std::abs(number) > range.most)
      throw UserError(
          "a number is beyond the type in which the sum runs", where_, fmt::format("{} in {}", number, type),
          fmt::format("numbers from {:.5g} to {:.5g}, or factors of f64", -range.most, range.most));
    if (number != 0 && std::abs(number) <= range.least / 2)
      throw UserError("a number is 0 in the type in which the sum runs", where_,
                      fmt::format("{} in {}", number, type),
                      fmt::format("0, numbers of at least {:.5g} in size, or factors of f64", range.least));
  }

  double kept(double result) const {
    const Range range = range_of(algorithm_.accumulator);
    if (std::abs(result) <= range.most) return result;
    throw UserError(
        "numbers of the epilogue leave the type in which the sum runs", where_,
        fmt::format("{:.7g} where every tensor is 0; {}", result, text_of_range(algorithm_.accumulator)),
        "smaller numbers beside the sum");
  }

  const Algorithm& algorithm_;
  const std::string& where_;
};

}  // namespace

void check_numbers(const Algorithm& algorithm, const std::string& where) {
  Numbers(algorithm, where).run();
}

}  // namespace weft
