// tests/<name>_golden.h: what the smoke test of a package compares with.
#include <fmt/format.h>
#include <weft/backends/export/print.h>
#include <weft/backends/reference.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <span>

namespace weft::exporting {
namespace {

constexpr std::int64_t most_products = 100'000'000;  ///< that a golden size may cost
constexpr std::int64_t samples = 48;                 ///< elements of a result that are kept

/// Inputs of the smoke test, which templates/smoke.c draws in the same way.
double input_of(std::int64_t element, std::uint64_t operand) {
  std::uint64_t x = static_cast<std::uint64_t>(element) * 0x9E3779B97F4A7C15U + operand * 0xD1B54A32D192ED03U;
  x = (x ^ (x >> 29U)) * 0xBF58476D1CE4E5B9U;
  return static_cast<double>(x >> 40U) / 8388608.0 - 1.0;
}

std::vector<std::int64_t> golden_sizes(const Package& package) {
  std::set<std::int64_t> sizes;
  const std::int64_t products = std::max<std::int64_t>(1, package.weights().array("values").size());
  for (const Range& range : package.ranges) {
    const std::int64_t affordable = most_products / products;
    for (const std::int64_t wanted : {range.least, std::int64_t{33}, std::int64_t{64}, std::int64_t{130}}) {
      const std::int64_t size = std::clamp(wanted / range.multiple * range.multiple, range.least, range.most);
      if (size <= affordable || sizes.empty()) sizes.insert(size);
    }
  }
  return {sizes.begin(), sizes.end()};
}

struct Inputs {
  std::vector<Array> arrays;
  Arguments arguments;
};

void fill(Inputs& inputs, const Package& package, std::int64_t n) {
  inputs.arrays.reserve(package.operands.size());
  for (std::size_t k = 0; k < package.operands.size(); ++k) {
    const Operand& operand = package.operand(package.operands[k]);
    std::vector<std::int64_t> shape;
    for (const Extent& extent : operand.shape) shape.push_back(extent.is_static() ? extent.value : n);
    if (!operand.strides.empty()) {
      std::int64_t last = 0;
      for (std::size_t d = 0; d < shape.size(); ++d) last += (shape[d] - 1) * operand.strides[d];
      shape = {last + 1};
    }
    Array& array = inputs.arrays.emplace_back(operand.dtype, shape);
    for (std::int64_t i = 0; i < array.size(); ++i) array.set(i, input_of(i, k));
    inputs.arguments.tensors[operand.name] = &array;
  }
  for (std::size_t k = 0; k < package.scalars.size(); ++k)
    inputs.arguments.scalars[package.scalars[k].name] = 1.25 - 0.5 * static_cast<double>(k);
}

/// The dimension of the output that the rows of the weights are; nothing where none is.
std::optional<std::size_t> dimension_of_rows(const Package& package) {
  const Algorithm& algorithm = package.algorithm;
  for (const TensorAccess& factor : algorithm.factors) {
    const Operand& operand = algorithm.operands[factor.operand];
    const std::string* const row = factor.indices.front().plain();
    if (operand.storage != Storage::sparse || row == nullptr ||
        operand.shape.front() != Extent(package.weights().rows()))
      continue;
    for (std::size_t d = 0; d < algorithm.output.indices.size(); ++d) {
      const std::string* const index = algorithm.output.indices[d].plain();
      if (index != nullptr && *index == *row) return d;
    }
  }
  return std::nullopt;
}

/// The weights with the entries of some rows alone.
SparseTensor of_rows(const SparseTensor& weights, const std::set<std::int64_t>& rows) {
  std::vector<std::int64_t> row, column, place;
  weights.walk([&](std::int64_t r, std::int64_t c, std::int64_t p) {
    if (!rows.contains(r)) return;
    row.push_back(r);
    column.push_back(c);
    place.push_back(p);
  });
  Array values(weights.dtype(), {std::ssize(place)});
  for (std::size_t i = 0; i < place.size(); ++i)
    values.copy_element(static_cast<std::int64_t>(i), weights.array("values"), place[i]);
  WeightMatrix matrix =
      from_coordinates(weights.rows(), weights.columns(), row, column, values, "rows of golden elements");
  matrix.shape = weights.shape();
  return pack(matrix, formats::csr());
}

std::int64_t size_of_result(const Operand& output, std::int64_t n) {
  std::int64_t size = 1;
  for (const Extent& extent : output.shape) size *= extent.is_static() ? extent.value : n;
  return size;
}

/// What the elements are. Where all of the result would cost more than a golden size may, the others are not.
Reference expected_at(const Package& package, std::span<const std::int64_t> elements, const Inputs& inputs,
                      std::int64_t n) {
  const SparseTensor& weights = package.weights();
  const auto dimension = dimension_of_rows(package);
  const Operand& output = package.algorithm.operands[package.algorithm.output.operand];
  const std::int64_t columns = size_of_result(output, n) / std::max<std::int64_t>(1, weights.rows());
  if (!dimension || weights.array("values").size() <= most_products / std::max<std::int64_t>(1, columns))
    return reference(package.algorithm, &weights, inputs.arguments);
  std::int64_t behind = 1;
  for (std::size_t d = *dimension + 1; d < output.shape.size(); ++d)
    behind *= output.shape[d].is_static() ? output.shape[d].value : n;
  std::set<std::int64_t> rows;
  for (const std::int64_t element : elements) rows.insert(element / behind % weights.rows());
  const SparseTensor chosen = of_rows(weights, rows);
  return reference(package.algorithm, &chosen, inputs.arguments);
}

/// The place of a row-major element in memory.
std::int64_t place_in_output(const Operand& output, std::int64_t element, std::int64_t n) {
  if (output.strides.empty()) return element;
  std::int64_t place = 0;
  for (std::size_t d = output.shape.size(); d-- > 0;) {
    const std::int64_t extent = output.shape[d].is_static() ? output.shape[d].value : n;
    place += element % extent * output.strides[d];
    element /= extent;
  }
  return place;
}

}  // namespace

std::string print_golden(const Package& package) {
  const Operand& output = package.algorithm.operands[package.algorithm.output.operand];
  const std::int64_t terms = package.weights().columns();
  const double allowed = tolerance(package.algorithm, terms);
  const double smallest = output.dtype == DType::f16 ? 0x1p-24 : 1e-30;  // the step between subnormal numbers
  const auto [least, most] = numbers_of_result(output.dtype);
  std::string sizes;
  std::string elements;
  std::int64_t count = 0;
  for (const std::int64_t n : golden_sizes(package)) {
    Inputs inputs;
    fill(inputs, package, n);
    const std::int64_t size = size_of_result(output, n);
    const std::int64_t taken = std::min(size, samples);
    std::vector<std::int64_t> places;
    for (std::int64_t i = 0; i < taken; ++i)
      places.push_back(taken == size ? i : (i * 7919 + i * i * 104'729) % size);
    const Reference expected = expected_at(package, places, inputs, n);
    sizes += fmt::format("    {{{}, {}, {}}},\n", n, count, taken);
    count += taken;
    for (const std::int64_t element : places) {
      const double value = std::clamp(expected.value.get(element), least, most);
      const double rounding = std::max(rounding_of_result(output.dtype, value), smallest);
      elements += fmt::format("    {{{}, {:.17g}, {:.3g}}},\n", place_in_output(output, element, n), value,
                              allowed * expected.magnitude.get(element) + rounding);
    }
  }
  Words words = words_of(package);
  words["SIZES"] = sizes;
  words["ELEMENTS"] = elements;
  return filled("golden.h", words);
}

}  // namespace weft::exporting
