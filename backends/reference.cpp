#include <fmt/format.h>
#include <weft/backends/reference.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/operation.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <ranges>

namespace weft {
namespace {

/// A dense operand as it is indexed: index variable number i moves the place in dimension d by
/// slope[d][i], from constant[d] on. Places outside of the operand read as zero.
struct DenseAccess {
  std::vector<std::int64_t> extent;
  std::vector<std::int64_t> stride;
  std::vector<std::int64_t> constant;
  std::vector<std::vector<std::int64_t>> slope;
  std::vector<double> data;
};

/// The elements that an access meets while one index runs and all others stand still.
struct Line {
  const double* data = nullptr;
  std::int64_t offset = 0;
  std::int64_t step = 0;
  std::int64_t begin = 0;  ///< elements outside of [begin, end) lie outside of the operand
  std::int64_t end = 0;
  double at(std::int64_t i) const { return data[offset + i * step]; }
};

/// One nest of loops over all indices: where there are packed weights, a walk of their entries stands in
/// place of the loops over the indices that they have.
class Evaluation {
 public:
  Evaluation(const Algorithm& algorithm, const SparseTensor* weights, const Arguments& arguments)
      : algorithm_(algorithm), weights_(weights), arguments_(arguments) {
    find_sizes();
    for (const IndexVariable& index : algorithm.indices) {
      number_[index.name] = extent_.size();
      extent_.push_back(size_of_extent(index.extent));
      if (!index.reduction) outputs_.push_back(number_[index.name]);
    }
    value_.assign(extent_.size(), 0);
    for (const TensorAccess& factor : algorithm.factors) {
      if (algorithm.operands[factor.operand].storage == Storage::dense) {
        factors_.push_back(loaded(factor));
        continue;
      }
      for (const AffineIndex& index : factor.indices) weight_indices_.push_back(number_.at(*index.plain()));
    }
    if (weights_ != nullptr) check_weights();
    order_free_indices();
  }

  Reference run() {
    std::int64_t count = 1;
    for (const std::size_t index : outputs_) count *= extent_[index];
    sum_.assign(count, 0.0);
    magnitude_.assign(count, 0.0);
    or_nan_.assign(count, false);
    if (weights_ == nullptr) {
      terms_ = 1;
      for (std::size_t i = 0; i < extent_.size(); ++i)
        terms_ *= algorithm_.indices[i].reduction ? extent_[i] : 1;
      add(0, 1.0);
    } else {
      std::vector<std::int64_t> in_row(weights_->rows(), 0);
      each_weight([&](std::int64_t row, std::int64_t column, double value) {
        set_indices(weight_indices_, row * weights_->columns() + column);
        terms_ = std::max(terms_, ++in_row[row]);
        if (value != 0) add(0, value);
      });
      add_zeros();
    }
    return epilogue();
  }

 private:
  void find_sizes() {
    const Operand* sparse = algorithm_.sparse_operand();
    if (sparse == nullptr) weights_ = nullptr;
    if (sparse != nullptr && weights_ == nullptr)
      throw UserError("the reference has no weights", algorithm_.text(),
                      "nothing for the sparse operand " + sparse->name, "its packed weights");
    sizes_ = check_arguments(algorithm_, weights_, arguments_);
  }

  /// Rows are the output's indices, columns those that are summed over.
  void check_weights() const {
    std::int64_t rows = 1;
    std::int64_t columns = 1;
    for (const std::size_t index : weight_indices_)
      (algorithm_.indices[index].reduction ? columns : rows) *= extent_[index];
    if (rows == weights_->rows() && columns == weights_->columns()) return;
    throw UserError("the weights do not fit the algorithm", algorithm_.text(),
                    fmt::format("{} rows and {} columns", weights_->rows(), weights_->columns()),
                    fmt::format("{} rows and {} columns", rows, columns));
  }

  std::int64_t size_of_extent(const Extent& extent) const {
    return extent.is_static() ? extent.value : sizes_.at(extent.name);
  }

  /// Elements in memory between neighbours of each dimension.
  std::vector<std::int64_t> strides_of(const Operand& operand) const {
    if (!operand.strides.empty()) return operand.strides;
    std::vector<std::int64_t> strides(operand.shape.size(), 1);
    for (std::size_t d = strides.size(); d-- > 1;)
      strides[d - 1] = strides[d] * size_of_extent(operand.shape[d]);
    return strides;
  }

  DenseAccess loaded(const TensorAccess& access) const {
    const Operand& operand = algorithm_.operands[access.operand];
    DenseAccess result;
    for (const Extent& extent : operand.shape) result.extent.push_back(size_of_extent(extent));
    result.stride = strides_of(operand);
    for (const AffineIndex& index : access.indices) {
      result.constant.push_back(index.constant);
      result.slope.emplace_back(extent_.size(), 0);
      for (const auto& [name, coefficient] : index.terms) result.slope.back()[number_.at(name)] = coefficient;
    }
    const Array& array = *arguments_.tensors.at(operand.name);
    result.data.resize(array.size());
    for (std::int64_t i = 0; i < array.size(); ++i) result.data[i] = array.get(i);
    return result;
  }

  /// What the weights do not fix, outputs and sums alike, runs over its whole range. The last output index
  /// runs innermost: along it operands usually lie in memory.
  void order_free_indices() {
    for (std::size_t i = 0; i < extent_.size(); ++i) {
      if (std::ranges::find(weight_indices_, i) == weight_indices_.end()) free_.push_back(i);
    }
    const auto innermost = std::ranges::find(free_, outputs_.back());
    if (innermost != free_.end()) std::rotate(innermost, innermost + 1, free_.end());
  }

  /// Index variables from a place in row-major order; the other indices keep their values.
  void set_indices(const std::vector<std::size_t>& indices, std::int64_t place) {
    for (const std::size_t index : std::views::reverse(indices)) {
      value_[index] = place % extent_[index];
      place /= extent_[index];
    }
  }

  void each_weight(const std::function<void(std::int64_t, std::int64_t, double)>& visit) const {
    const Array& values = weights_->array("values");
    weights_->walk([&](std::int64_t row, std::int64_t column, std::int64_t position) {
      visit(row, column, values.get(position));
    });
  }

  /// Weights that are zero, in the format or not, where they can make a difference.
  void add_zeros() {
    if (std::ranges::all_of(factors_.front().data, [](double x) { return std::isfinite(x); })) return;
    const std::int64_t columns = weights_->columns();
    std::vector<bool> counted(weights_->rows() * columns, false);
    each_weight([&](std::int64_t row, std::int64_t column, double value) {
      counted[row * columns + column] = value != 0;
    });
    for (std::size_t place = 0; place < counted.size(); ++place) {
      if (counted[place]) continue;
      set_indices(weight_indices_, static_cast<std::int64_t>(place));
      add(0, 0.0);
    }
  }

  /// Adds weight * factors over the free indices from `next` on. A weight of zero leaves the sums alone.
  void add(std::size_t next, double weight) {
    if (next + 1 < free_.size()) {
      std::int64_t& value = value_[free_[next]];
      for (value = 0; value < extent_[free_[next]]; ++value) add(next + 1, weight);
      value = 0;
      return;
    }
    const std::size_t none = extent_.size();
    const std::size_t inner = free_.empty() ? none : free_.back();
    const std::int64_t count = inner == none ? 1 : extent_[inner];
    const auto [place, place_step] = line_of_output(inner);
    const Line first = line_of(factors_.front(), inner, count);
    const Line second = line_of(factors_.back(), inner, count);
    const bool two = factors_.size() == 2;
    const std::int64_t begin = std::max(first.begin, second.begin);
    const std::int64_t end = std::min(first.end, second.end);
    // Outside of an operand there is no product, not even that of zero and infinity.
    for (std::int64_t i = begin; i < end; ++i) {
      const double product = weight * first.at(i) * (two ? second.at(i) : 1.0);
      const auto at = static_cast<std::size_t>(place + i * place_step);
      if (weight == 0) {
        if (std::isnan(product)) or_nan_[at] = true;
        continue;
      }
      sum_[at] += product;
      magnitude_[at] += std::abs(product);
    }
    for (std::int64_t i = 0; i < count && !std::isfinite(weight); ++i) {
      if (i < begin || i >= end) or_nan_[place + i * place_step] = true;
    }
  }

  Line line_of(const DenseAccess& access, std::size_t inner, std::int64_t count) const {
    Line line{access.data.data(), 0, 0, 0, count};
    for (std::size_t d = 0; d < access.extent.size(); ++d) {
      std::int64_t fixed = access.constant[d];
      for (std::size_t i = 0; i < extent_.size(); ++i) {
        if (i != inner) fixed += access.slope[d][i] * value_[i];
      }
      const std::int64_t slope = inner < extent_.size() ? access.slope[d][inner] : 0;
      clip(fixed, slope, access.extent[d], line);
      line.offset += fixed * access.stride[d];
      line.step += slope * access.stride[d];
    }
    return line;
  }

  /// Narrows the line to where 0 <= fixed + slope * i < extent.
  static void clip(std::int64_t fixed, std::int64_t slope, std::int64_t extent, Line& line) {
    const auto outside = [&](std::int64_t i) { return fixed + slope * i < 0 || fixed + slope * i >= extent; };
    while (line.begin < line.end && outside(line.begin)) ++line.begin;
    while (line.begin < line.end && outside(line.end - 1)) --line.end;
  }

  /// Row-major place in the output (without strides) and its change with the inner index.
  std::pair<std::int64_t, std::int64_t> line_of_output(std::size_t inner) const {
    std::int64_t place = 0;
    std::int64_t step = 0;
    for (const std::size_t i : outputs_) {
      place = place * extent_[i] + (i == inner ? 0 : value_[i]);
      step = step * extent_[i] + (i == inner ? 1 : 0);
    }
    return {place, step};
  }

  Reference epilogue() {
    std::vector<std::int64_t> shape;
    for (const std::size_t index : outputs_) shape.push_back(extent_[index]);
    Reference result{Array(DType::f64, shape), Array(DType::f64, shape), terms_};
    result.or_nan = or_nan_;
    load_epilogue(algorithm_.result);
    for (std::size_t i = 0; i < sum_.size(); ++i) {
      set_indices(outputs_, static_cast<std::int64_t>(i));
      const auto [value, magnitude] = evaluate(algorithm_.result, i);
      result.value.as<double>()[i] = value;
      result.magnitude.as<double>()[i] = magnitude;
    }
    return result;
  }

  void load_epilogue(const Term& term) {
    if (term.kind == Term::Kind::access) epilogue_.emplace(&term, loaded(term.access));
    for (const Term& argument : term.arguments) load_epilogue(argument);
  }

  /// Value and magnitude of a term at output element `i`.
  Sized evaluate(const Term& term, std::size_t i) const {
    switch (term.kind) {
      case Term::Kind::sum: return {sum_[i], magnitude_[i]};
      case Term::Kind::number: return {term.number, std::abs(term.number)};
      case Term::Kind::scalar: {
        const double value = arguments_.scalars.at(term.scalar);
        return {value, std::abs(value)};
      }
      case Term::Kind::access: {
        const Line line = line_of(epilogue_.at(&term), extent_.size(), 1);
        const double value = line.begin < line.end ? line.at(0) : 0;
        return {value, std::abs(value)};
      }
      default: break;
    }
    const Operation* operation = operation_of(term.kind);
    internal_check(operation != nullptr, "an epilogue term of an unknown kind");
    const Sized x = evaluate(term.arguments[0], i);
    return operation->result(x, operation->arguments > 1 ? evaluate(term.arguments[1], i) : Sized{});
  }

  const Algorithm& algorithm_;
  const SparseTensor* weights_;
  const Arguments& arguments_;
  std::map<std::string, std::int64_t> sizes_;
  std::map<std::string, std::size_t> number_;
  std::vector<std::int64_t> extent_;
  std::vector<std::size_t> outputs_;
  std::vector<std::int64_t> value_;
  std::vector<std::size_t> weight_indices_;
  std::vector<std::size_t> free_;
  std::vector<DenseAccess> factors_;  ///< one beside weights, else two
  std::vector<double> sum_;
  std::vector<double> magnitude_;
  std::vector<bool> or_nan_;
  std::int64_t terms_ = 0;
  std::map<const Term*, DenseAccess> epilogue_;
};

}  // namespace

Reference reference(const Algorithm& algorithm, const SparseTensor* weights, const Arguments& arguments,
                    CallPlace place) {
  return user_call(place, [&] { return Evaluation(algorithm, weights, arguments).run(); });
}

namespace {

/// Below this, rounding errors are absolute: the spacing of subnormal numbers.
double smallest_normal(DType dtype) {
  if (dtype == DType::f16) return 0x1p-14;
  return dtype == DType::f64 ? std::numeric_limits<double>::min()
                             : static_cast<double>(std::numeric_limits<float>::min());
}

}  // namespace

std::pair<double, double> numbers_of_result(DType type) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (!is_factor_of_a_byte(type)) return {-infinity, infinity};
  Array ends(type, {2});
  ends.set(0, -infinity);
  ends.set(1, infinity);
  return {ends.get(0), ends.get(1)};
}

double rounding_of_result(DType type, double value) {
  if (type == DType::i8) return 0.5;
  if (!is_float_of_a_byte(type)) return 0;
  const int digits = type == DType::e4m3 ? 3 : 2, least = type == DType::e4m3 ? -6 : -14;
  return std::ldexp(0.5, std::max(std::ilogb(value), least) - digits);
}

Difference difference(const Array& result, const Reference& expected, CallPlace place) {
  user_call(place, [&] {
    if (result.size() != expected.value.size())
      throw UserError("a result of another size is compared with the reference",
                      text_of_shape(result.shape()), text_of_shape(expected.value.shape()));
  });
  Difference d;
  double error = 0;
  double norm = 0;
  Array nearest(result.dtype(), {1});
  const auto [least, most] = numbers_of_result(result.dtype());
  const bool is_whole = !is_float(result.dtype());
  for (std::int64_t i = 0; i < result.size(); ++i) {
    const double x = result.get(i);
    const double exact = expected.value.get(i),
                 y = std::isnan(exact) ? exact : std::clamp(exact, least, most);
    const bool may_be_nan = std::isnan(y) || (!expected.or_nan.empty() && expected.or_nan[i]);
    // Integers hold NaN as zero.
    if (is_whole && may_be_nan && x == 0) continue;
    if (!std::isfinite(x) || !std::isfinite(y)) {
      nearest.set(0, y);  // infinite beyond the numbers of the type
      const bool same_special = (std::isnan(x) && may_be_nan) || x == nearest.get(0);
      if (!same_special && d.wrong < 0) d.wrong = i;
      continue;
    }
    const double magnitude = std::max(expected.magnitude.get(i), smallest_normal(result.dtype()));
    error += (x - y) * (x - y);
    norm += y * y;
    d.largest = std::max(d.largest, std::abs(x - y));
    const double beyond = std::max(std::abs(x - y) - rounding_of_result(result.dtype(), y), 0.0);
    d.largest_scaled = std::max(d.largest_scaled, beyond / magnitude);
  }
  d.relative = norm > 0 ? std::sqrt(error / norm) : std::sqrt(error);
  return d;
}

std::string Difference::text() const {
  if (wrong >= 0)
    return fmt::format("element {} is NaN or infinite where the reference is not, or the reverse", wrong);
  return fmt::format("relative {:.2e}, largest {:.2e}, largest to magnitude {:.2e}", relative, largest,
                     largest_scaled);
}

double tolerance(DType output, DType accumulator, std::int64_t terms) {
  const auto unit = [](DType dtype) {
    if (dtype == DType::f16) return 0x1p-11;
    if (dtype == DType::bf16) return 0x1p-8;
    if (is_factor_of_a_byte(dtype)) return 0.0;
    return dtype == DType::f64 ? 0x1p-53 : 0x1p-24;
  };
  // Rounding errors of a sum grow like the square root of its length; four times that covers the tail.
  return 1.01 * unit(output) + 4 * unit(accumulator) * (2 + std::sqrt(static_cast<double>(terms)));
}

double tolerance(const Algorithm& algorithm, std::int64_t terms) {
  constexpr double cut_of_a_stage = 0x1p-10;
  const DType output = algorithm.operands[algorithm.output.operand].dtype;
  const bool is_cut = std::ranges::any_of(algorithm.factors, [&](const TensorAccess& factor) {
    return is_float_of_a_byte(algorithm.operands[factor.operand].dtype);
  });
  return tolerance(output, algorithm.accumulator, terms) + (is_cut ? cut_of_a_stage : 0);
}

}  // namespace weft
