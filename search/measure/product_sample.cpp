#include <weft/formats/row_order.h>
#include <weft/scheduler/recipes/parts/product.h>
#include <weft/search/measure/product_sample.h>
#include <weft/search/spaces/problems.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace weft {
namespace {

constexpr std::int64_t most_apart = 16;  ///< rows of a fragment of tensor cores, and columns of two

std::vector<std::int64_t> one_of_every(std::int64_t apart, std::int64_t count) {
  constexpr std::int64_t step = most_apart + 1;  // a prime: places of all numbers occur, whatever `apart` is
  std::vector<std::int64_t> places;
  for (std::int64_t first = 0; first < count; first += apart) {
    const std::int64_t place = first / apart * step % apart;
    places.push_back(std::min(first + place, count - 1));
  }
  return places;
}

/// The elements of the array at these places of a dimension.
Array elements_at(const Array& array, std::size_t dimension, const std::vector<std::int64_t>& places) {
  std::vector<std::int64_t> shape = array.shape();
  std::size_t inner = size_of(array.dtype());
  for (std::size_t i = dimension + 1; i < shape.size(); ++i) inner *= static_cast<std::size_t>(shape[i]);
  std::int64_t outer = 1;
  for (std::size_t i = 0; i < dimension; ++i) outer *= shape[i];
  const std::int64_t all = std::exchange(shape[dimension], static_cast<std::int64_t>(places.size()));
  Array result(array.dtype(), shape);
  std::byte* to = result.data();
  for (std::int64_t o = 0; o < outer; ++o) {
    for (const std::int64_t place : places) {
      std::memcpy(to, array.data() + static_cast<std::size_t>(o * all + place) * inner, inner);
      to += inner;
    }
  }
  return result;
}

/// The dimension of the access that the index counts.
std::optional<std::size_t> dimension_of(const TensorAccess& access, const std::string& index) {
  for (std::size_t i = 0; i < access.indices.size(); ++i) {
    const std::string* plain = access.indices[i].plain();
    if (plain != nullptr && *plain == index) return i;
  }
  return std::nullopt;
}

void add_accesses(const Term& term, std::vector<const TensorAccess*>& accesses) {
  if (term.kind == Term::Kind::access) accesses.push_back(&term.access);
  for (const Term& each : term.arguments) add_accesses(each, accesses);
}

std::vector<const TensorAccess*> accesses_of(const Algorithm& algorithm) {
  std::vector<const TensorAccess*> accesses{&algorithm.output};
  for (const TensorAccess& factor : algorithm.factors) accesses.push_back(&factor);
  add_accesses(algorithm.result, accesses);
  return accesses;
}

}  // namespace

void ProductSample::take(const Places& places) {
  std::map<std::string, std::size_t> dimensions;
  for (const TensorAccess* access : accesses_of(algorithm_)) {
    if (const auto dimension = dimension_of(*access, places.index))
      dimensions.emplace(algorithm_.operands[access->operand].name, *dimension);
  }
  for (auto& [name, array] : tensors_) {
    const auto found = dimensions.find(name);
    if (found != dimensions.end()) array = elements_at(array, found->second, places.places);
  }
  algorithm_ = with_size(algorithm_, places.index, Extent(static_cast<std::int64_t>(places.places.size())));
  taken_.push_back(places);
}

std::optional<ProductSample> ProductSample::of(TrialProblem& problem, double budget) {
  const Algorithm& algorithm = problem.what.algorithm;
  const ProductLoops loops = product_loops(algorithm);
  const WeightMatrix& matrix = *problem.what.matrix;
  if (loops.dense.empty() || loops.rows.empty() || loops.columns.empty() ||
      !problem.output().strides.empty() || !problem.product())
    return std::nullopt;
  const double products = static_cast<double>(matrix.stored()) * static_cast<double>(problem.columns);
  const auto times = static_cast<std::int64_t>(products / budget);
  if (times < 2) return std::nullopt;
  const std::int64_t of_rows = std::min(most_apart, times),
                     of_columns = std::min(most_apart, times / of_rows);
  ProductSample sample;
  sample.algorithm_ = algorithm;
  sample.scalars_ = problem.scalars;
  sample.tensors_ = problem.tensors;
  const std::vector<std::int64_t> rows = one_of_every(of_rows, matrix.rows);
  sample.matrix_ = with_row_order(matrix, std::vector<std::int32_t>(rows.begin(), rows.end()));
  sample.take({loops.rows, rows});
  sample.take({loops.columns, one_of_every(of_columns, problem.columns)});
  return sample;
}

Arguments ProductSample::arguments() {
  Arguments all;
  for (auto& [name, array] : tensors_) all.tensors[name] = &array;
  all.scalars = scalars_;
  return all;
}

Array ProductSample::of_output(const Array& output) const {
  Array sample = output;
  for (const Places& each : taken_)
    sample = elements_at(sample, *dimension_of(algorithm_.output, each.index), each.places);
  return sample;
}

}  // namespace weft
