#include <fmt/format.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/program/check_weights.h>
#include <weft/scheduler/program/own_names.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

namespace weft {
namespace {

using Shape = std::vector<std::int64_t>;

std::string shape_text(const Operand& operand) {
  std::string text;
  for (const Extent& extent : operand.shape) {
    text += (text.empty() ? "[" : ", ") + extent.text();
    if (!extent.is_static() && extent.multiple > 1)
      text += fmt::format(" (a multiple of {})", extent.multiple);
  }
  return text + "]";
}

std::int64_t product(std::span<const std::int64_t> extents) {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
}

/// Whether every dimension has the size that the operand has, and one size stands for each name.
bool has_shape(const Operand& operand, const Shape& shape) {
  std::map<std::string, std::int64_t> sizes;
  return std::equal(shape.begin(), shape.end(), operand.shape.begin(), operand.shape.end(),
                    [&](std::int64_t size, const Extent& extent) {
                      if (extent.is_static()) return size == extent.value;
                      const std::int64_t known = sizes.emplace(extent.name, size).first->second;
                      return size >= 1 && size % extent.multiple == 0 && size == known;
                    });
}

/// What weights are, packed or not.
struct Given {
  Shape shape;
  std::int64_t rows, columns;
  DType dtype;
};
Given given(const SparseTensor& weights) {
  return {weights.shape(), weights.rows(), weights.columns(), weights.dtype()};
}

/// The operand's sizes with these weights: those of the weights, or of the matrix that they are, or the
/// operand's own where the weights come as a matrix and nothing is open. Nothing: they do not fit.
std::optional<Shape> sizes_with(const Operand& operand, const Given& weights) {
  const Shape matrix{weights.rows, weights.columns};
  for (const Shape& shape : {weights.shape, matrix}) {
    if (has_shape(operand, shape)) return shape;
  }
  const bool stands_for_dimensions = operand.shape.size() > matrix.size() && weights.shape == matrix;
  if (!stands_for_dimensions || !std::ranges::all_of(operand.shape, &Extent::is_static)) return std::nullopt;
  Shape sizes;
  for (const Extent& extent : operand.shape) sizes.push_back(extent.value);
  return sizes;
}

/// The dimensions of the sparse operand that the output has too; the others are summed over.
std::size_t row_dimensions(const Algorithm& algorithm) {
  const SparseIndices indices = sparse_indices(algorithm);
  if (indices.rows.empty() && indices.columns.empty())
    throw UserError("no factor of the sum is sparse", algorithm.name + ": " + algorithm.text(),
                    "weights, and a sparse operand that the sum does not go through",
                    "the sparse operand as a factor, such as A in sum(k, A(m, k) * B(k, n))");
  return indices.rows.size();
}

class Check {
 public:
  Check(const Algorithm& algorithm, const Operand& sparse, Given weights)
      : algorithm_(algorithm), sparse_(sparse), weights_(std::move(weights)) {}

  Shape sizes() const {
    const std::optional<Shape> found = sizes_with(sparse_, weights_);
    if (!found) refuse_shape();
    return *found;
  }

  void run() const {
    const Shape of_operand = sizes();
    const std::size_t first = row_dimensions(algorithm_);
    const std::int64_t rows = product(std::span(of_operand).first(first));
    const std::int64_t columns = product(std::span(of_operand).subspan(first));
    if (rows != weights_.rows || columns != weights_.columns) refuse_rows(first, rows, columns);
    if (weights_.dtype != sparse_.dtype)
      refuse(
          "the weights do not have the element type of " + sparse_.name, std::string(name_of(weights_.dtype)),
          fmt::format("{0}: converted(weights, DType::{0}) before they are packed", name_of(sparse_.dtype)));
  }

 private:
  [[noreturn]] void refuse(std::string what, std::string found, std::string accepted) const {
    throw UserError(std::move(what), algorithm_.name + ": " + algorithm_.text(), std::move(found),
                    std::move(accepted));
  }

  std::string found() const {
    return fmt::format("{}, {} rows and {} columns", text_of_shape(weights_.shape), weights_.rows,
                       weights_.columns);
  }

  [[noreturn]] void refuse_shape() const {
    const Shape turned{weights_.columns, weights_.rows};
    refuse("the weights do not have the shape of " + sparse_.name, found(),
           shape_text(sparse_) + (has_shape(sparse_, turned) ? ", which is that of their transpose" : ""));
  }

  [[noreturn]] void refuse_rows(std::size_t first, std::int64_t rows, std::int64_t columns) const {
    const bool dimensions = weights_.shape.size() > 2 && makes_up(weights_.shape, rows, columns);
    refuse(fmt::format("the rows of the weights are not the first {} of {}",
                       first == 1 ? "dimension" : fmt::format("{} dimensions", first), sparse_.name),
           found(),
           fmt::format("{} rows and {} columns{}", rows, columns,
                       dimensions ? fmt::format(": read(path, {{.row_dimensions = {0}}}), or "
                                                "with_row_dimensions(weights, {0}), before they are packed",
                                                first)
                                  : ""));
  }

  const Algorithm& algorithm_;
  const Operand& sparse_;
  Given weights_;
};

}  // namespace

void check_weights(const Algorithm& algorithm, const SparseTensor* weights) {
  const Operand* sparse = algorithm.sparse_operand();
  const std::string where = algorithm.name + ": " + algorithm.text();
  if (sparse == nullptr) {
    if (weights == nullptr) return;
    throw UserError("weights were given to an algorithm without a sparse operand", where,
                    "weights in " + weights->format().text(),
                    "an algorithm with one Tensor<…, sparse>, or schedule(algorithm, target)");
  }
  if (weights == nullptr)
    throw UserError("the sparse operand " + sparse->name + " has no weights", where, "no weights",
                    "schedule(algorithm, weights, target)");
  weights->check();
  Check(algorithm, *sparse, given(*weights)).run();
  if (algorithm.takes_any_weights() && weights->row_levels() == 0)
    throw UserError("weights of any size do not fit the format", where, weights->format().text(),
                    "a format that stores row by row, as csr, ell or shfl_bw");
}

void check_weights(const Algorithm& algorithm, const WeightMatrix& weights) {
  const Operand* sparse = algorithm.sparse_operand();
  if (sparse == nullptr)
    throw UserError("weights were given to an algorithm without a sparse operand",
                    algorithm.name + ": " + algorithm.text(), "no sparse operand",
                    "an algorithm with one Tensor<…, sparse>");
  weights.check();
  Check(algorithm, *sparse, {weights.shape, weights.rows, weights.columns, weights.values.dtype()}).run();
}

std::vector<std::int64_t> sizes_of_operand(const Algorithm& algorithm, const SparseTensor& weights) {
  return Check(algorithm, *algorithm.sparse_operand(), given(weights)).sizes();
}

}  // namespace weft
