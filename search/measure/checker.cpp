#include <fmt/format.h>
#include <weft/dsl/arithmetic.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/processors.h>
#include <weft/formats/parallel.h>
#include <weft/formats/row_order.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/search/measure/checker.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace weft {
namespace {

double allowed(DenseType arithmetic) {
  switch (arithmetic) {
    case DenseType::f32: return 2e-5;
    case DenseType::tf32:
    case DenseType::e4m3:
    case DenseType::f16: return 2e-3;
    case DenseType::bf16: return 2e-2;
  }
  throw InternalError("a DenseType without a bound");
}

/// Evenly spread, the first and the last among them.
std::vector<std::int64_t> spread(std::int64_t rows, std::int64_t count) {
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0; i < count; ++i) chosen.push_back(count == 1 ? 0 : i * (rows - 1) / (count - 1));
  return chosen;
}

WeightMatrix rows_of(const WeightMatrix& matrix, const std::vector<std::int64_t>& rows) {
  return with_row_order(matrix, std::vector<std::int32_t>(rows.begin(), rows.end()));
}

std::vector<std::int64_t> shape_of_part(const SuiteProblem& part) {
  if (!part.convolution) return {part.m, part.n};
  const auto output = part.convolution->output();
  return {part.convolution->batch, part.m, output[0], output[1]};
}

/// Squares of differences and of what they are compared with.
struct Squares {
  double error = 0;
  double norm = 0;
};

template <class T>
Squares squares_of(std::span<const T> a, std::span<const T> b) {
  Squares sum;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = static_cast<double>(static_cast<float>(a[i]));
    const double y = static_cast<double>(static_cast<float>(b[i]));
    sum.error += (x - y) * (x - y);
    sum.norm += y * y;
  }
  return sum;
}

/// By all cores where there are millions: many trials check their whole output.
template <class T>
double relative_of(std::span<const T> a, std::span<const T> b) {
  constexpr std::size_t of_a_core = 1 << 18;
  const std::size_t cores = processors();
  const std::size_t parts = std::clamp<std::size_t>(a.size() / of_a_core, 1, cores);
  const std::size_t size = ceil_divide(a.size(), parts);
  std::vector<Squares> sums(parts);
  parallel_for_on(std::ssize(sums), std::ssize(sums), [&](std::int64_t i) {
    const std::size_t begin = std::min(a.size(), static_cast<std::size_t>(i) * size);
    const std::size_t count = std::min(size, a.size() - begin);
    sums[i] = squares_of<T>(a.subspan(begin, count), b.subspan(begin, count));
  });
  Squares all;
  for (const Squares& part : sums) {
    all.error += part.error;
    all.norm += part.norm;
  }
  if (!std::isfinite(all.error) || !std::isfinite(all.norm)) return std::numeric_limits<double>::infinity();
  return all.norm > 0 ? std::sqrt(all.error / all.norm) : std::sqrt(all.error);
}

}  // namespace

std::optional<DenseType> dense_type_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return DenseType::f32;
    case DType::f16: return DenseType::f16;
    case DType::bf16: return DenseType::bf16;
    case DType::e4m3: return DenseType::e4m3;
    default: return std::nullopt;
  }
}

std::int64_t longest_row(const WeightMatrix& matrix) {
  std::int64_t longest = 0;
  for (std::size_t row = 0; row + 1 < matrix.row_begin.size(); ++row)
    longest = std::max(longest, matrix.row_begin[row + 1] - matrix.row_begin[row]);
  return longest;
}

double relative_difference(const Array& output, const Array& trusted) {
  internal_check(output.size() == trusted.size() && output.dtype() == trusted.dtype(),
                 "outputs of different kinds are compared");
  switch (output.dtype()) {
    case DType::f16: return relative_of(output.as<f16>(), trusted.as<f16>());
    case DType::bf16: return relative_of(output.as<bf16>(), trusted.as<bf16>());
    default: return relative_of(output.as<float>(), trusted.as<float>());
  }
}

void Checker::choose_sample(const Workload& workload, double budget) {
  outer_ = workload.problem.convolution ? workload.problem.convolution->batch : 1;
  inner_ = workload.problem.n / outer_;
  const double all = std::max(workload.operations() / 2, static_cast<double>(all_rows_ * workload.problem.n));
  complete_ = all <= budget;
  constexpr std::int64_t most_images = 2;
  constexpr std::int64_t most_columns = 256;
  // Pixels of an image need each other's neighbours, so of a convolution all are computed.
  images_ = spread(outer_, complete_ ? outer_ : std::min(outer_, most_images));
  columns_ =
      spread(inner_, complete_ || workload.problem.convolution ? inner_ : std::min(inner_, most_columns));
  const double of_a_row = all / static_cast<double>(all_rows_) * static_cast<double>(images_.size()) /
                          static_cast<double>(outer_) * static_cast<double>(columns_.size()) /
                          static_cast<double>(inner_);
  const double rows = std::min(budget / of_a_row, static_cast<double>(all_rows_));
  rows_ = spread(all_rows_,
                 complete_ ? all_rows_
                           : std::max(static_cast<std::int64_t>(rows), std::min<std::int64_t>(8, all_rows_)));
}

Array Checker::chosen_b(const Workload& workload) const {
  const Array& b = *workload.b;
  if (workload.problem.convolution) {
    std::vector<std::int64_t> shape = b.shape();
    const std::size_t bytes = b.bytes() / static_cast<std::size_t>(outer_);
    shape.front() = static_cast<std::int64_t>(images_.size());
    Array part(b.dtype(), shape);
    for (std::size_t i = 0; i < images_.size(); ++i)
      std::memcpy(part.data() + i * bytes, b.data() + static_cast<std::size_t>(images_[i]) * bytes, bytes);
    return part;
  }
  const auto count = static_cast<std::int64_t>(columns_.size());
  Array part(b.dtype(), {workload.problem.k, count});
  for (std::int64_t k = 0; k < workload.problem.k; ++k) {
    for (std::int64_t i = 0; i < count; ++i) part.copy_element(k * count + i, b, k * inner_ + columns_[i]);
  }
  return part;
}

Checker::Checker(const Workload& workload, double budget) : all_rows_(workload.matrix.rows) {
  choose_sample(workload, budget);
  SuiteProblem part = workload.problem;
  part.m = static_cast<std::int64_t>(rows_.size());
  part.n = static_cast<std::int64_t>(columns_.size());
  if (part.convolution) {
    part.convolution->filters = part.m;
    part.convolution->batch = static_cast<std::int64_t>(images_.size());
  }
  const Algorithm algorithm = part.convolution ? convolution_algorithm(*part.convolution, workload.dtype)
                                               : spmm_algorithm(part.m, part.k, part.n, workload.dtype);
  const SparseTensor weights = pack(rows_of(workload.matrix, rows_), formats::csr());
  Array b = chosen_b(workload);
  const DType results = algorithm.operands[algorithm.output.operand].dtype;
  Array c(results, shape_of_part(part));
  Arguments arguments;
  arguments.tensors = {{"B", &b}, {"C", &c}};
  expected_ = reference(algorithm, &weights, arguments);
  strict_tolerance_ = tolerance(algorithm, longest_row(workload.matrix));
}

Array Checker::sample_of(const Array& output) const {
  Array sample(output.dtype(),
               {static_cast<std::int64_t>(images_.size()), static_cast<std::int64_t>(rows_.size()),
                static_cast<std::int64_t>(columns_.size())});
  std::int64_t to = 0;
  for (const std::int64_t image : images_) {
    for (const std::int64_t row : rows_) {
      for (const std::int64_t column : columns_)
        sample.copy_element(to++, output, (image * all_rows_ + row) * inner_ + column);
    }
  }
  return sample;
}

Check Checker::check(const Array& output, DenseType arithmetic, bool strict) const {
  internal_check(output.size() == outer_ * all_rows_ * inner_, "an output of another problem is checked");
  Check result;
  result.rows = static_cast<std::int64_t>(rows_.size());
  const Difference found = difference(sample_of(output), expected_);
  result.relative = found.relative;
  const double bound = allowed(arithmetic);
  if (found.wrong >= 0) {
    result.reason = fmt::format("element {} of the compared ones is not a number", found.wrong);
  } else if (!(found.relative <= bound)) {
    result.reason = fmt::format("relative error {:.1e}, allowed {:.1e}", found.relative, bound);
  } else if (strict && !(found.largest_scaled <= strict_tolerance_)) {
    result.reason = fmt::format("error {:.1e} of an element to its magnitude, allowed {:.1e}",
                                found.largest_scaled, strict_tolerance_);
  }
  if (result.reason.empty() && !complete()) {
    result.against_trusted = trusted_.has_value();
    // Without a trusted result, compared with itself: what was not written is NaN still.
    const double whole = relative_difference(output, trusted_ ? *trusted_ : output);
    if (!trusted_ && whole != 0) result.reason = "an element is not a number";
    if (trusted_ && !(whole <= 2 * bound))
      result.reason =
          fmt::format("relative difference {:.1e} to the trusted result, allowed {:.1e}", whole, 2 * bound);
  }
  result.passed = result.reason.empty();
  return result;
}

}  // namespace weft
