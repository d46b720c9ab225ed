#include <fmt/format.h>
#include <weft/backends/reference.h>
#include <weft/dsl/errors.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft {
namespace {

using Sizes = std::map<std::string, std::int64_t>;

/// An access with every index variable replaced by its number: offset of dimension d is
/// constant[d] + sum over i of coefficient[d][i] * value of variable i.
struct LinearAccess {
  std::vector<std::int64_t> extent;
  std::vector<std::int64_t> stride;
  std::vector<std::int64_t> constant;
  std::vector<std::vector<std::int64_t>> coefficient;
  std::vector<double> data;
};

class Evaluation {
 public:
  Evaluation(const Algorithm& algorithm, const SparseTensor* weights, const Arguments& arguments)
      : algorithm_(algorithm),
        weights_(weights),
        arguments_(arguments),
        sizes_(check_arguments(algorithm, arguments)) {
    for (const IndexVariable& index : algorithm.indices) {
      number_[index.name] = static_cast<int>(extent_.size());
      extent_.push_back(size_of_extent(index.extent));
      if (!index.reduction) outputs_.push_back(number_[index.name]);
    }
    value_.assign(extent_.size(), 0);
  }

  Reference run() {
    choose_weights();
    const LinearAccess output = linear_access(algorithm_.output);
    std::int64_t count = 1;
    for (const std::int64_t extent : output.extent) count *= extent;
    sum_.assign(static_cast<std::size_t>(count), 0.0);
    magnitude_.assign(static_cast<std::size_t>(count), 0.0);
    each_weight();
    return epilogue(output);
  }

 private:
  std::int64_t size_of_extent(const Extent& extent) const {
    return extent.is_static() ? extent.value : sizes_.at(extent.name);
  }

  LinearAccess linear_access(const TensorAccess& access) const {
    const Operand& operand = algorithm_.operands[access.operand];
    LinearAccess result;
    for (const Extent& extent : operand.shape) result.extent.push_back(size_of_extent(extent));
    result.stride = operand.strides;
    if (result.stride.empty()) {
      result.stride.assign(result.extent.size(), 1);
      for (std::size_t i = result.extent.size(); i-- > 1;)
        result.stride[i - 1] = result.stride[i] * result.extent[i];
    }
    for (const AffineIndex& index : access.indices) {
      result.constant.push_back(index.constant);
      result.coefficient.emplace_back(extent_.size(), 0);
      for (const auto& [name, coefficient] : index.terms) {
        result.coefficient.back()[static_cast<std::size_t>(number_.at(name))] = coefficient;
      }
    }
    return result;
  }

  void load(LinearAccess& access, const std::string& name) const {
    const Array& array = *arguments_.tensors.at(name);
    access.data.resize(static_cast<std::size_t>(array.size()));
    for (std::int64_t i = 0; i < array.size(); ++i) access.data[static_cast<std::size_t>(i)] = array.get(i);
  }

  /// One factor plays the weights (it has plain indices only), the other the dense operand.
  void choose_weights() {
    const auto plain = [&](const TensorAccess& factor) {
      return std::all_of(factor.indices.begin(), factor.indices.end(),
                         [](const AffineIndex& index) { return index.plain() != nullptr; });
    };
    std::size_t chosen = algorithm_.factors.size();
    for (std::size_t i = 0; i < algorithm_.factors.size(); ++i) {
      const bool sparse = algorithm_.operands[algorithm_.factors[i].operand].storage == Storage::sparse;
      if (sparse ||
          (weights_ == nullptr && chosen == algorithm_.factors.size() && plain(algorithm_.factors[i])))
        chosen = i;
    }
    if (chosen == algorithm_.factors.size()) {
      throw UserError({"this algorithm has no reference", algorithm_.name, algorithm_.text(),
                       "a factor that is indexed with plain indices"});
    }
    weight_access_ = linear_access(algorithm_.factors[chosen]);
    for (const AffineIndex& index : algorithm_.factors[chosen].indices)
      weight_indices_.push_back(number_.at(*index.plain()));
    const TensorAccess& other = algorithm_.factors[1 - chosen];
    dense_ = linear_access(other);
    load(dense_, algorithm_.operands[other.operand].name);
    weight_name_ = algorithm_.operands[algorithm_.factors[chosen].operand].name;
    // What the weights do not fix, outputs and sums alike, runs over its whole range for every weight.
    for (int i = 0; i < static_cast<int>(extent_.size()); ++i) {
      if (std::find(weight_indices_.begin(), weight_indices_.end(), i) == weight_indices_.end())
        free_.push_back(i);
    }
  }

  void each_weight() {
    if (weights_ != nullptr) {
      const Array& values = weights_->array("values");
      weights_->walk([&](std::int64_t row, std::int64_t column, std::int64_t position) {
        std::int64_t flat = row * weights_->columns() + column;
        set_weight_indices(flat);
        add(0, values.get(position));
      });
      return;
    }
    load(weight_access_, weight_name_);
    std::int64_t count = 1;
    for (const std::int64_t extent : weight_access_.extent) count *= extent;
    for (std::int64_t flat = 0; flat < count; ++flat) {
      set_weight_indices(flat);
      std::int64_t offset = 0;
      for (std::size_t d = 0; d < weight_indices_.size(); ++d) {
        offset += value_[static_cast<std::size_t>(weight_indices_[d])] * weight_access_.stride[d];
      }
      add(0, weight_access_.data[static_cast<std::size_t>(offset)]);
    }
  }

  void set_weight_indices(std::int64_t flat) {
    for (std::size_t d = weight_indices_.size(); d-- > 0;) {
      value_[static_cast<std::size_t>(weight_indices_[d])] = flat % weight_access_.extent[d];
      flat /= weight_access_.extent[d];
    }
  }

  /// Adds weight * dense over the free indices from `next` on; the last runs in the inner loop.
  void add(std::size_t next, double weight) {
    if (next + 1 < free_.size()) {
      const auto index = static_cast<std::size_t>(free_[next]);
      for (value_[index] = 0; value_[index] < extent_[index]; ++value_[index]) add(next + 1, weight);
      value_[index] = 0;
      return;
    }
    const std::size_t inner = free_.empty() ? extent_.size() : static_cast<std::size_t>(free_.back());
    std::int64_t begin = 0;
    std::int64_t end = free_.empty() ? 1 : extent_[inner];
    std::int64_t offset = 0;
    std::int64_t step = 0;
    for (std::size_t d = 0; d < dense_.extent.size(); ++d) {
      std::int64_t fixed = dense_.constant[d];
      for (std::size_t i = 0; i < extent_.size(); ++i) {
        if (i != inner) fixed += dense_.coefficient[d][i] * value_[i];
      }
      const std::int64_t slope = inner < extent_.size() ? dense_.coefficient[d][inner] : 0;
      clip(fixed, slope, dense_.extent[d], begin, end);
      offset += fixed * dense_.stride[d];
      step += slope * dense_.stride[d];
    }
    const auto [place, place_step] = output_place(inner);
    for (std::int64_t i = begin; i < end; ++i) {
      const double product = weight * dense_.data[static_cast<std::size_t>(offset + i * step)];
      sum_[static_cast<std::size_t>(place + i * place_step)] += product;
      magnitude_[static_cast<std::size_t>(place + i * place_step)] += std::abs(product);
    }
  }

  /// Narrows [begin, end) to where 0 <= fixed + slope * i < extent.
  static void clip(std::int64_t fixed, std::int64_t slope, std::int64_t extent, std::int64_t& begin,
                   std::int64_t& end) {
    while (begin < end && (fixed + slope * begin < 0 || fixed + slope * begin >= extent)) ++begin;
    while (begin < end && (fixed + slope * (end - 1) < 0 || fixed + slope * (end - 1) >= extent)) --end;
  }

  /// Row-major place in the output (without strides) and its change with the inner index.
  std::pair<std::int64_t, std::int64_t> output_place(std::size_t inner) const {
    std::int64_t place = 0;
    std::int64_t step = 0;
    for (const int index : outputs_) {
      const auto i = static_cast<std::size_t>(index);
      place = place * extent_[i] + (i == inner ? 0 : value_[i]);
      step = step * extent_[i] + (i == inner ? 1 : 0);
    }
    return {place, step};
  }

  Reference epilogue(const LinearAccess& output) {
    std::vector<std::int64_t> shape;
    for (const int index : outputs_) shape.push_back(extent_[static_cast<std::size_t>(index)]);
    Reference result{Array(DType::f64, shape), Array(DType::f64, shape)};
    prepare_epilogue(algorithm_.result);
    for (std::size_t i = 0; i < sum_.size(); ++i) {
      auto rest = static_cast<std::int64_t>(i);
      for (std::size_t d = outputs_.size(); d-- > 0;) {
        const auto index = static_cast<std::size_t>(outputs_[d]);
        value_[index] = rest % extent_[index];
        rest /= extent_[index];
      }
      const auto [value, magnitude] = evaluate(algorithm_.result, i);
      result.value.as<double>()[i] = value;
      result.magnitude.as<double>()[i] = magnitude;
    }
    internal_check(output.extent.size() == outputs_.size(), "an output of another rank");
    return result;
  }

  void prepare_epilogue(const Term& term) {
    if (term.kind == Term::Kind::access) {
      LinearAccess access = linear_access(term.access);
      load(access, algorithm_.operands[term.access.operand].name);
      epilogue_.emplace(&term, std::move(access));
    }
    for (const Term& argument : term.arguments) prepare_epilogue(argument);
  }

  double read(const LinearAccess& access) const {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < access.extent.size(); ++d) {
      std::int64_t index = access.constant[d];
      for (std::size_t i = 0; i < extent_.size(); ++i) index += access.coefficient[d][i] * value_[i];
      offset += index * access.stride[d];
    }
    return access.data[static_cast<std::size_t>(offset)];
  }

  /// Value and magnitude of a term at output element `i`.
  std::pair<double, double> evaluate(const Term& term, std::size_t i) const {
    const auto argument = [&](std::size_t a) { return evaluate(term.arguments[a], i); };
    switch (term.kind) {
      case Term::Kind::sum:
        return {sum_[i], magnitude_[i]};
      case Term::Kind::number:
        return {term.number, std::abs(term.number)};
      case Term::Kind::scalar: {
        const double value = arguments_.scalars.at(term.scalar);
        return {value, std::abs(value)};
      }
      case Term::Kind::access: {
        const double value = read(epilogue_.at(&term));
        return {value, std::abs(value)};
      }
      case Term::Kind::add:
      case Term::Kind::subtract: {
        const auto [a, a_size] = argument(0);
        const auto [b, b_size] = argument(1);
        return {term.kind == Term::Kind::add ? a + b : a - b, a_size + b_size};
      }
      case Term::Kind::multiply: {
        const auto [a, a_size] = argument(0);
        const auto [b, b_size] = argument(1);
        return {a * b, a_size * b_size};
      }
      case Term::Kind::relu: {
        const auto [x, size] = argument(0);
        return {x < 0 ? 0 : x, size};
      }
      case Term::Kind::gelu: {
        const auto [x, size] = argument(0);
        // 1 + erf cancels for negative x, so the error is one of x itself.
        return {0.5 * x * (1 + std::erf(x * std::sqrt(0.5))), size + std::abs(x)};
      }
    }
    throw InternalError("an epilogue term of an unknown kind");
  }

  const Algorithm& algorithm_;
  const SparseTensor* weights_;
  const Arguments& arguments_;
  Sizes sizes_;
  std::map<std::string, int> number_;
  std::vector<std::int64_t> extent_;
  std::vector<int> outputs_;
  std::vector<std::int64_t> value_;
  std::vector<int> free_;
  LinearAccess weight_access_;
  std::vector<int> weight_indices_;
  std::string weight_name_;
  LinearAccess dense_;
  std::vector<double> sum_;
  std::vector<double> magnitude_;
  std::map<const Term*, LinearAccess> epilogue_;
};

}  // namespace

Reference reference(const Algorithm& algorithm, const SparseTensor* weights, const Arguments& arguments) {
  return Evaluation(algorithm, weights, arguments).run();
}

namespace {

/// Below this, rounding errors are absolute: the spacing of subnormal numbers.
double smallest_normal(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return 0x1p-14;
    case DType::f64:
      return std::numeric_limits<double>::min();
    default:
      return static_cast<double>(std::numeric_limits<float>::min());
  }
}

}  // namespace

Difference difference(const Array& result, const Reference& expected) {
  internal_check(result.size() == expected.value.size(), "results of different sizes are compared");
  Difference d;
  double error = 0;
  double norm = 0;
  for (std::int64_t i = 0; i < result.size(); ++i) {
    const double x = result.get(i);
    const double y = expected.value.get(i);
    const bool same_special = (std::isnan(x) && std::isnan(y)) || x == y;
    if (!std::isfinite(x) || !std::isfinite(y)) {
      if (!same_special && d.wrong < 0) d.wrong = i;
      continue;
    }
    const double magnitude = std::max(expected.magnitude.get(i), smallest_normal(result.dtype()));
    error += (x - y) * (x - y);
    norm += y * y;
    d.largest = std::max(d.largest, std::abs(x - y));
    d.largest_scaled = std::max(d.largest_scaled, std::abs(x - y) / magnitude);
  }
  d.relative = norm > 0 ? std::sqrt(error / norm) : std::sqrt(error);
  return d;
}

std::string Difference::text() const {
  if (wrong >= 0)
    return fmt::format("element {} is not a number where the reference is, or the reverse", wrong);
  return fmt::format("relative {:.2e}, largest {:.2e}, largest to magnitude {:.2e}", relative, largest,
                     largest_scaled);
}

double tolerance(DType output, DType accumulator, std::int64_t terms) {
  const auto unit = [](DType dtype) {
    switch (dtype) {
      case DType::f16:
        return 0x1p-11;
      case DType::bf16:
        return 0x1p-8;
      case DType::f64:
        return 0x1p-53;
      default:
        return 0x1p-24;
    }
  };
  // Rounding errors of a sum grow like the square root of its length; four times that covers the tail.
  return 1.01 * unit(output) + 4 * unit(accumulator) * (2 + std::sqrt(static_cast<double>(terms)));
}

}  // namespace weft
