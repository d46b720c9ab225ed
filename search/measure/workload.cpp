#include <fmt/format.h>
#include <weft/dsl/arithmetic.h>
#include <weft/dsl/errors.h>
#include <weft/formats/io/read.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/search/measure/workload.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace weft {
namespace {

Algorithm algorithm_of(const SuiteProblem& problem, DType dtype) {
  if (problem.convolution) return convolution_algorithm(*problem.convolution, dtype);
  return spmm_algorithm(problem.m, problem.k, problem.n, dtype);
}

std::vector<std::int64_t> shape_of(const Algorithm& algorithm, const std::string& name) {
  std::vector<std::int64_t> shape;
  for (const Operand& operand : algorithm.operands) {
    if (operand.name != name) continue;
    for (const Extent& extent : operand.shape) shape.push_back(extent.value);
  }
  return shape;
}

/// The same for a problem wherever it stands: a number of its shape and sparsity.
std::uint64_t seed_of(const SuiteProblem& problem, double sparsity) {
  std::uint64_t seed = 17;
  for (const std::int64_t part : {problem.m, problem.k, std::int64_t{std::llround(sparsity * 1e6)}})
    seed = seed * 1000003 + static_cast<std::uint64_t>(part);
  return seed;
}

void read_real(Workload& workload, const RealWeights::Entry& entry, std::uint64_t seed) {
  workload.matrix = read(entry.path);
  workload.source = entry.name;
  if (workload.matrix.pattern_only) {
    workload.matrix = with_random_values(workload.matrix, workload.dtype, seed);
    workload.source += fmt::format(", values drawn with seed {}", seed);
  } else {
    workload.matrix = converted(workload.matrix, workload.dtype);
  }
}

void draw_groups(Workload& workload, const SuiteCase& chosen, std::uint64_t seed) {
  ShflBwWeights drawn = shfl_bw_weights({.rows = chosen.problem.m,
                                         .columns = chosen.problem.k,
                                         .sparsity = chosen.sparsity,
                                         .group_rows = chosen.group_rows,
                                         .dtype = workload.dtype,
                                         .seed = seed});
  workload.matrix = std::move(drawn.matrix);
  workload.groups = std::move(drawn.groups);
  workload.source = fmt::format("Shfl-BW, V = {}, seed {}", chosen.group_rows, seed);
}

void draw_pairs(Workload& workload, const SuiteCase& chosen, std::uint64_t seed) {
  workload.pattern = chosen.pattern;
  workload.matrix = pair_weights({.rows = chosen.problem.m,
                                  .columns = chosen.problem.k,
                                  .pattern = *chosen.pattern,
                                  .dtype = workload.dtype,
                                  .seed = seed});
  workload.source = fmt::format("{}, seed {}", chosen.pattern->text(), seed);
}

void draw_blocks(Workload& workload, const SuiteCase& chosen, std::uint64_t seed) {
  workload.matrix =
      block_weights(chosen.problem.m, chosen.problem.k, chosen.block, chosen.sparsity, workload.dtype, seed);
  workload.block = chosen.block;
  workload.source = fmt::format("blocks of {}, seed {}", chosen.block, seed);
}

void draw(Workload& workload, double sparsity, std::uint64_t seed) {
  workload.matrix = synthetic_layer({.rows = workload.problem.m,
                                     .columns = workload.problem.k,
                                     .sparsity = sparsity,
                                     .dtype = workload.dtype,
                                     .seed = seed});
  workload.source = fmt::format("synthetic, seed {}", seed);
}

double filled_up(std::int64_t count, std::int64_t to) {
  return static_cast<double>(ceil_divide(count, to) * to);
}

GroupLimits pair_limits(const Workload& workload, const Ceilings& ceilings) {
  constexpr std::int64_t rows_of_instruction = 16, columns_of_instruction = 32;
  const auto [m, k, n] = std::tuple(workload.problem.m, workload.problem.k, workload.problem.n);
  const auto [rows, of] = *workload.pattern;
  const std::int64_t kept = k / of * 4 + std::min<std::int64_t>(k % of, 4);
  const double multiplied = filled_up(m, std::max(rows, rows_of_instruction)) *
                            filled_up(kept, columns_of_instruction) * filled_up(n, 8);
  GroupLimits limits;
  limits.tensor = 1e6 * multiplied / ceilings.tensor_operations_a_second;
  if (rows == 0) return limits;
  const auto width = static_cast<double>(size_of(workload.dtype));
  const auto groups = static_cast<double>(ceil_divide(m, rows));
  const double gathered = groups * static_cast<double>(kept) * static_cast<double>(n) * width;
  const double values = static_cast<double>(workload.matrix.stored()) * (width + 0.25);
  limits.l2 = 1e6 * (gathered + values) / ceilings.l2_bytes_a_second;
  return limits;
}

}  // namespace

Array Workload::empty_output() const {
  return Array(algorithm.operands[algorithm.output.operand].dtype, shape_of(algorithm, "C"));
}

double Workload::operations() const {
  return 2.0 * static_cast<double>(matrix.stored()) * static_cast<double>(problem.n);
}

double Workload::bytes() const {
  const std::vector<std::int64_t> output = shape_of(algorithm, "C");
  const auto factors = static_cast<double>(matrix.stored() + b->size());
  const DType results = algorithm.operands[algorithm.output.operand].dtype;
  return factors * static_cast<double>(size_of(dtype)) +
         static_cast<double>(element_count(output, "output")) * static_cast<double>(size_of(results));
}

Workload make_workload(const SuiteCase& chosen, DType dtype, const RealWeights& real) {
  Workload workload;
  workload.problem = chosen.problem;
  workload.dtype = dtype;
  const std::int64_t column_count = chosen.problem.k * chosen.problem.image_groups;
  if (column_count > std::numeric_limits<std::int32_t>::max() / std::max<std::int64_t>(1, chosen.problem.m))
    throw UserError("a problem is too large", "problem " + chosen.problem.id,
                    fmt::format("{} x {} weights", chosen.problem.m, column_count),
                    fmt::format("at most {}", std::numeric_limits<std::int32_t>::max()));
  workload.algorithm = algorithm_of(chosen.problem, dtype);
  const std::uint64_t seed = chosen.seed.value_or(seed_of(chosen.problem, chosen.sparsity));
  workload.seed = seed;
  std::vector<std::int64_t> shape_of_b = shape_of(workload.algorithm, "B");
  if (chosen.is_structured()) {
    if (chosen.pattern) {
      draw_pairs(workload, chosen, seed);
    } else if (chosen.block > 0) {
      draw_blocks(workload, chosen, seed);
    } else {
      draw_groups(workload, chosen, seed);
    }
    workload.b = std::make_shared<const Array>(normal_array(dtype, std::move(shape_of_b), seed + 1));
  } else {
    if (const auto* entry = real.find(chosen.problem.m, chosen.problem.k, chosen.sparsity))
      read_real(workload, *entry, seed);
    else
      draw(workload, chosen.sparsity, seed);
    workload.b = std::make_shared<const Array>(random_array(dtype, std::move(shape_of_b), seed + 1));
  }
  if (chosen.problem.image_groups > 1)
    workload.matrix = across_groups(std::move(workload.matrix), chosen.problem.image_groups);
  workload.matrix.shape = shape_of(workload.algorithm, "A");
  return workload;
}

Algorithm algorithm_in(const Workload& workload, ImageLayout layout) {
  if (!workload.problem.convolution) return workload.algorithm;
  Convolution convolution = *workload.problem.convolution;
  convolution.layout = layout;
  return convolution_algorithm(convolution, workload.dtype);
}

Workload copy_of(const Workload& workload, int copy) {
  Workload other = workload;
  if (copy == 0) return other;
  const auto seed = static_cast<std::uint64_t>(copy) * 7919;
  const std::vector<std::int64_t> shape = other.matrix.shape;
  other.matrix = with_random_values(other.matrix, other.dtype, seed);
  other.matrix.shape = shape;
  return other;
}

Workload with_weights(const Workload& workload, WeightMatrix matrix, std::string source) {
  internal_check(matrix.rows == workload.matrix.rows && matrix.columns == workload.matrix.columns,
                 "weights of another shape");
  Workload other;
  other.problem = workload.problem;
  other.algorithm = workload.algorithm;
  other.dtype = workload.dtype;
  other.matrix = std::move(matrix);
  other.matrix.shape = workload.matrix.shape;
  other.source = std::move(source);
  other.seed = workload.seed;
  other.b = workload.b;
  return other;
}

double limit_microseconds(const Workload& workload, const Ceilings& ceilings) {
  return 1e6 * std::max(workload.bytes() / ceilings.bytes_a_second,
                        workload.operations() / ceilings.operations_a_second);
}

std::optional<GroupLimits> group_limits(const Workload& workload, const Ceilings& ceilings) {
  if (workload.pattern) return pair_limits(workload, ceilings);
  if (!workload.groups) return std::nullopt;
  const RowGroups& row_groups = *workload.groups;
  const std::int64_t n = workload.problem.n;
  const double multiplied =
      filled_up(workload.problem.m, row_groups.rows) * filled_up(row_groups.kept, 16) * filled_up(n, 8);
  const auto width = static_cast<double>(size_of(workload.dtype));
  const double gathered =
      static_cast<double>(row_groups.count() * row_groups.kept) * static_cast<double>(n) * width;
  const double values = static_cast<double>(workload.matrix.stored()) * width;
  return GroupLimits{1e6 * 2 * multiplied / ceilings.tensor_operations_a_second,
                     1e6 * (gathered + values) / ceilings.l2_bytes_a_second};
}

}  // namespace weft
