#include <weft/dsl/arithmetic.h>
#include <weft/formats/pruned_for.h>
#include <weft/scheduler/recipes/parts/bound.h>
#include <weft/scheduler/recipes/parts/ordered.h>
#include <weft/scheduler/recipes/parts/problem_summary.h>
#include <weft/scheduler/recipes/parts/product.h>

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

std::int64_t elements_of(const Operand& operand, std::int64_t open_size) {
  std::int64_t elements = 1;
  for (const Extent& extent : operand.shape) elements *= extent.is_static() ? extent.value : open_size;
  return elements;
}

bool ends_otherwise(const TensorAccess& access, const std::string& inner) {
  const std::string* last = access.indices.empty() ? nullptr : access.indices.back().plain();
  return last != nullptr && *last != inner;
}

/// How many columns of four keep at most two entries in each of so many rows, whose entries stand where
/// chance put them: two always do. Among several a search finds those that suit, so that a row or two in the
/// mean that do not are no hindrance.
std::int64_t columns_of_four(double density, std::int64_t rows) {
  constexpr double few = 2;
  const double three = density * density * density;
  const double more_than_two = 4 * three * (1 - density) + three * density;
  if (static_cast<double>(rows) * more_than_two < few) return 4;
  return static_cast<double>(rows) * three < few ? 3 : 2;
}

/// Weights that were pruned in groups are stored with the zeros that the groups have.
std::int64_t stored_in(const Format& format, const WeightMatrix& weights) {
  const bool is_in_that_order = format.name == "shfl_bw" || format.name == "column_vectors" ||
                                (weights.pruned_for != nullptr && weights.pruned_for->format == format);
  const std::int64_t rows = parameter_of(format, "V");
  if (!is_in_that_order || rows == 0) return weights.stored();
  const std::span<const std::int32_t> order = row_order_in_groups(weights, rows);
  return order.empty() ? weights.stored() : places_in_groups(weights, order, rows);
}

}  // namespace

RowLengths row_lengths(const WeightMatrix& weights) {
  double sum = 0, squares = 0;
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    const auto first = static_cast<std::size_t>(row);
    const auto length = static_cast<double>(weights.row_begin[first + 1] - weights.row_begin[first]);
    sum += length;
    squares += length * length;
  }
  if (sum == 0) return {};
  const auto rows = static_cast<double>(weights.rows);
  const double mean = sum / rows;
  return {mean, std::sqrt(std::max(0.0, squares / rows - mean * mean)) / mean};
}

double ProblemSummary::density() const {
  const double elements = static_cast<double>(m) * static_cast<double>(k);
  return elements > 0 ? static_cast<double>(stored) / elements : 0;
}

std::int64_t ProblemSummary::kept_columns() const {
  return std::min(k, m > 0 ? ceil_divide(stored, m) : 0);
}

std::int64_t ProblemSummary::gathered_columns() const {
  if (kept_of == 0) return kept_columns();
  if (of_group == 4) return k;
  // A block that keeps all has half of a block's columns, and another one has the other half.
  if (of_group == kept_of) return 2 * kept_columns();
  if (of_group > 0) return std::min(k, 2 * kept_columns());
  constexpr std::int64_t usual_rows = 128;
  return ceil_divide(4 * k, columns_of_four(density(), group_rows > 0 ? group_rows : usual_rows));
}

bool ProblemSummary::leaves_runs_of_rows() const {
  // Those of elements of a byte have two.
  const DType results = is_factor_of_a_byte(dtype) ? DType::f16 : dtype;
  return output_across && fills_runs(results, m) && !names_rows;
}

bool ProblemSummary::reads_runs_of_the_sum() const {
  return (input_across || input_is_row) && keeps_columns && fills_runs(dtype, k);
}

double ProblemSummary::operations() const {
  return 2.0 * static_cast<double>(stored) * static_cast<double>(n);
}

double ProblemSummary::bytes() const {
  const double elements = static_cast<double>(stored) + static_cast<double>(dense_elements) +
                          static_cast<double>(m) * static_cast<double>(n);
  return elements * static_cast<double>(size_of(dtype));
}

void add_format(ProblemSummary& summary, const Format& format) {
  if (format.name == "dense") {
    summary.stored = summary.m * summary.k;
    summary.row_mean = static_cast<double>(summary.k);
    summary.row_variation = 0;
  }
  summary.group_rows = parameter_of(format, "V");
  constexpr std::int64_t usual_columns = 128;
  summary.block = format.name == "column_blocks" ? parameter_of(format, "columns", usual_columns)
                                                 : parameter_of(format, "b");
  summary.names_rows = format.name == "shfl_bw" || format.parameters.contains("order");
  summary.keeps_columns = format.name == "n_m" || format.name == "mixed";
  summary.column_bits = format.name == "column_blocks" ? 16 : parameter_of(format, "index", 32);
  summary.columns_of_bit = format.name == "lane_streams" ? 1 : format.name == "pair_words" ? 2 : 0;
  if (!formats::keeps_two_of_four(format)) return;
  summary.kept_of = 2;
  if (format.name == "column_quads") return;
  if (format.name == "hb_ell") {
    constexpr std::int64_t rows_of_block = 16;
    summary.group_rows = rows_of_block;
    return;
  }
  if (format.name == "mixed") {
    summary.of_group = summary.kept_of;
    return;
  }
  summary.of_group = format.name == "n_m" ? 4 : parameter_of(format, "M", formats::PairOptions{}.columns);
}

ProblemSummary with_copied_rows(ProblemSummary problem) {
  constexpr std::int64_t columns_of_run = 8, few = 64;
  if (!problem.input_across && !problem.input_unaligned) return problem;
  const bool fills_tile = problem.input_across && problem.n <= few;
  problem.n = fills_tile ? std::max(bounds::power_of_two_from(problem.n), columns_of_run)
                         : ceil_divide(problem.n, columns_of_run) * columns_of_run;
  if (fills_tile) problem.dense_elements = problem.k * problem.n;
  return problem;
}

void add_algorithm(ProblemSummary& summary, const Algorithm& algorithm, std::int64_t open_size) {
  const Operand& output = algorithm.operands[algorithm.output.operand];
  summary.dtype = output.dtype;
  summary.n = summary.m > 0 ? elements_of(output, open_size) / summary.m : 0;
  for (const TensorAccess& factor : algorithm.factors) {
    const Operand& operand = algorithm.operands[factor.operand];
    // What is read is most of the bytes, and what is multiplied says how fast.
    if (is_factor_of_a_byte(operand.dtype)) summary.dtype = operand.dtype;
    if (operand.storage == Storage::sparse) continue;
    summary.dense_elements = elements_of(operand, open_size);
    for (const AffineIndex& index : factor.indices) summary.convolution |= index.plain() == nullptr;
  }
  if (summary.convolution) summary.of_images = std::make_shared<const Algorithm>(algorithm);
  summary.images_across = transposes_images(algorithm);
  summary.images_fill_warps = images_fill_warps(algorithm);
  const std::string inner = product_loops(algorithm).columns;
  bool input_across = false;
  for (const TensorAccess& factor : algorithm.factors)
    if (!inner.empty() && algorithm.operands[factor.operand].storage != Storage::sparse)
      input_across = ends_otherwise(factor, inner);
  summary.input_across = input_across && summary.n > 1;
  summary.input_is_row = input_across && summary.n == 1;
  summary.output_across = !inner.empty() && summary.n > 1 && ends_otherwise(algorithm.output, inner);
  const auto is_one_of = [](const std::vector<std::string>& names, const Operand& operand) {
    return std::ranges::find(names, operand.name) != names.end();
  };
  const std::vector<std::string> aligned = operands_to_align(algorithm);
  summary.input_unaligned = is_one_of(aligned, algorithm.operands[dense_operand(algorithm)]);
  summary.output_unaligned = is_one_of(aligned, output);
  summary.output_transposed = summary.output_across && is_one_of(operands_to_transpose(algorithm), output);
}

ProblemSummary summary_of(const Algorithm& algorithm, const WeightMatrix& weights, const Format& format,
                          std::int64_t open_size) {
  ProblemSummary summary;
  summary.m = weights.rows;
  summary.k = weights.columns;
  summary.stored = stored_in(format, weights);
  add_algorithm(summary, algorithm, open_size);
  const RowLengths lengths = row_lengths(weights);
  const bool is_filled_up = summary.stored > weights.stored();
  summary.row_mean =
      is_filled_up ? static_cast<double>(summary.stored) / static_cast<double>(weights.rows) : lengths.mean;
  summary.row_variation = lengths.variation;
  add_format(summary, format);
  return summary;
}

}  // namespace weft
