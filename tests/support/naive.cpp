#include "support/naive.h"

#include <fmt/format.h>
#include <weft/backends/reference.h>
#include <weft/dsl/errors.h>

#include <algorithm>
#include <cmath>

namespace weft::test {
namespace {

/// An operand's numbers, and where an access reads them at given values of all indices.
struct Reading {
  std::vector<double> numbers;
  std::vector<std::int64_t> extent, stride, constant;
  std::vector<std::vector<std::int64_t>> coefficients;  ///< coefficients of every index, by dimension

  /// The place of the element; -1 outside of the operand.
  std::int64_t place(const std::vector<std::int64_t>& values) const {
    std::int64_t result = 0;
    for (std::size_t d = 0; d < extent.size(); ++d) {
      std::int64_t at = constant[d];
      for (std::size_t i = 0; i < values.size(); ++i) at += coefficients[d][i] * values[i];
      if (at < 0 || at >= extent[d]) return -1;
      result += at * stride[d];
    }
    return result;
  }
  double at(const std::vector<std::int64_t>& values) const {
    const std::int64_t element = place(values);
    return element < 0 || element >= std::ssize(numbers) ? 0 : numbers[static_cast<std::size_t>(element)];
  }
};

struct Number {
  double value = 0;
  double magnitude = 0;
};

class Naive {
 public:
  Naive(const Algorithm& algorithm, const WeightMatrix* weights, const Arguments& arguments)
      : algorithm_(algorithm), weights_(weights), arguments_(arguments) {
    for (const IndexVariable& index : algorithm.indices) extents_.push_back(size_of(index.extent));
    result_.exact = true;
  }

  NaiveResult run() {
    const Reading left = reading(algorithm_.factors[0]), right = reading(algorithm_.factors[1]);
    const Reading output = reading(algorithm_.output);
    std::size_t outer = 0;
    while (outer < algorithm_.indices.size() && !algorithm_.indices[outer].reduction) ++outer;
    std::vector<std::int64_t> values(extents_.size(), 0);
    do {
      Number sum;
      result_.terms = 0;
      do {
        const double product = left.at(values) * right.at(values);
        sum = {sum.value + product, sum.magnitude + std::abs(product)};
        ++result_.terms;
      } while (next(values, outer, values.size()));
      const Number element = of_term(algorithm_.result, sum, values);
      result_.value.push_back(element.value);
      result_.magnitude.push_back(element.magnitude);
      result_.place.push_back(output.place(values));
    } while (next(values, 0, outer));
    return std::move(result_);
  }

 private:
  /// Counts up the indices from `first` to before `last`, the last one fastest; false when all are 0 again.
  bool next(std::vector<std::int64_t>& values, std::size_t first, std::size_t last) const {
    for (std::size_t i = last; i-- > first; values[i] = 0) {
      if (++values[i] < extents_[i]) return true;
    }
    return false;
  }

  std::int64_t size_of(const Extent& extent) const {
    if (extent.is_static()) return extent.value;
    for (const Operand& operand : algorithm_.operands) {
      const bool sparse = operand.storage == Storage::sparse;
      if (!sparse && !operand.strides.empty()) continue;
      std::vector<std::int64_t> shape =
          sparse ? weights_->shape : arguments_.tensors.at(operand.name)->shape();
      // A matrix has the sizes of its rows and columns, whatever dimensions it was cut from.
      if (sparse && operand.shape.size() == 2) shape = {weights_->rows, weights_->columns};
      for (std::size_t d = 0; d < operand.shape.size() && d < shape.size(); ++d)
        if (operand.shape[d].name == extent.name) return shape[d];
    }
    throw InternalError("a size that no operand has");
  }

  Reading reading(const TensorAccess& access) {
    const Operand& operand = algorithm_.operands[access.operand];
    const bool sparse = operand.storage == Storage::sparse;
    const Array array = sparse ? to_dense(*weights_) : *arguments_.tensors.at(operand.name);
    Reading result;
    for (std::int64_t i = 0; i < array.size(); ++i) result.numbers.push_back(array.get(i));
    const bool is_read = access.operand != algorithm_.output.operand;
    result_.exact = result_.exact && (!is_read || std::ranges::all_of(result.numbers, is_whole));
    std::int64_t elements = 1;
    for (std::size_t d = operand.shape.size(); d-- > 0;) {
      result.extent.insert(result.extent.begin(), size_of(operand.shape[d]));
      result.stride.insert(result.stride.begin(), operand.strides.empty() ? elements : operand.strides[d]);
      elements *= result.extent.front();
    }
    for (const AffineIndex& index : access.indices) {
      result.constant.push_back(index.constant);
      result.coefficients.emplace_back(extents_.size(), 0);
      for (const auto& [name, coefficient] : index.terms) {
        const auto found = std::ranges::find(algorithm_.indices, name, &IndexVariable::name);
        result.coefficients.back()[static_cast<std::size_t>(found - algorithm_.indices.begin())] +=
            coefficient;
      }
    }
    return result;
  }

  static bool is_whole(double number) { return number == std::trunc(number); }

  Number given(double number) {
    result_.exact = result_.exact && is_whole(number);
    return {number, std::abs(number)};
  }

  Number of_term(const Term& term, const Number& sum, const std::vector<std::int64_t>& values) {
    std::vector<Number> x;
    for (const Term& argument : term.arguments) x.push_back(of_term(argument, sum, values));
    switch (term.kind) {
      case Term::Kind::sum: return sum;
      case Term::Kind::number: return given(term.number);
      case Term::Kind::scalar: return given(arguments_.scalars.at(term.scalar));
      case Term::Kind::access: {
        const auto known = readings_.find(&term);
        return given((known != readings_.end() ? known->second
                                               : readings_.emplace(&term, reading(term.access)).first->second)
                         .at(values));
      }
      case Term::Kind::add: return {x[0].value + x[1].value, x[0].magnitude + x[1].magnitude};
      case Term::Kind::subtract: return {x[0].value - x[1].value, x[0].magnitude + x[1].magnitude};
      case Term::Kind::multiply: return {x[0].value * x[1].value, x[0].magnitude * x[1].magnitude};
      case Term::Kind::relu: return {x[0].value < 0 ? 0 : x[0].value, x[0].magnitude};
      case Term::Kind::maximum:
        return {x[0].value < x[1].value ? x[1].value : x[0].value, std::max(x[0].magnitude, x[1].magnitude)};
      case Term::Kind::minimum:
        return {x[1].value < x[0].value ? x[1].value : x[0].value, std::max(x[0].magnitude, x[1].magnitude)};
      case Term::Kind::divide:
        result_.exact = false;
        return {x[0].value / x[1].value,
                x[0].magnitude / std::abs(x[1].value) +
                    std::abs(x[0].value) * x[1].magnitude / (x[1].value * x[1].value)};
      case Term::Kind::tanh: result_.exact = false; return {std::tanh(x[0].value), x[0].magnitude + 1};
      case Term::Kind::sigmoid:
        result_.exact = false;
        return {1 / (1 + std::exp(-x[0].value)), x[0].magnitude + 1};
      case Term::Kind::silu:
        result_.exact = false;
        return {x[0].value / (1 + std::exp(-x[0].value)), 2 * x[0].magnitude + std::abs(x[0].value)};
      case Term::Kind::gelu:
        result_.exact = false;
        // For negative numbers 1 + erf cancels: the error is one of the number itself.
        return {x[0].value / 2 * (1 + std::erf(x[0].value / std::sqrt(2.0))),
                x[0].magnitude + std::abs(x[0].value)};
    }
    throw InternalError("a term of an unknown kind");
  }

  const Algorithm& algorithm_;
  const WeightMatrix* weights_;
  const Arguments& arguments_;
  std::vector<std::int64_t> extents_;
  std::map<const Term*, Reading> readings_;
  NaiveResult result_;
};

}  // namespace

NaiveResult naive(const Algorithm& algorithm, const WeightMatrix* weights, const Arguments& arguments) {
  return Naive(algorithm, weights, arguments).run();
}

std::string disagreement(const Algorithm& algorithm, const NaiveResult& expected, const Array& output) {
  const double allowed = tolerance(output.dtype(), algorithm.accumulator, expected.terms);
  // Sums below it are whole numbers in every accumulator, in whatever order they are made.
  constexpr double largest_whole = 0x1p24;
  Array rounded(output.dtype(), {1});
  for (std::size_t i = 0; i < expected.value.size(); ++i) {
    const double found = output.get(expected.place[i]);
    rounded.set(0, expected.value[i]);
    if (found == rounded.get(0) || (std::isnan(found) && std::isnan(rounded.get(0)))) continue;
    const bool is_exact = expected.exact && expected.magnitude[i] < largest_whole;
    // Below it, types have no numbers.
    const double magnitude = std::max(expected.magnitude[i], 0x1p-14);
    const auto [least, most] = numbers_of_result(output.dtype());
    const double value = std::clamp(expected.value[i], least, most);
    const double rounding = rounding_of_result(output.dtype(), value);
    if (!is_exact && std::abs(found - value) <= allowed * magnitude + rounding) continue;
    // Something was divided by zero, and rounded to zero before that it has another quotient.
    if (!std::isfinite(expected.magnitude[i]) && !std::isfinite(found)) continue;
    return fmt::format("element {} is {}, where {} is right{}", i, found, rounded.get(0),
                       is_exact ? ", exactly" : "");
  }
  return {};
}

}  // namespace weft::test
