#define XXH_INLINE_ALL  // nothing to link
#include <fmt/format.h>
#include <weft/backends/cuda/toolkit.h>
#include <weft/backends/version.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/recipes/parts/product.h>
#include <weft/search/measure/operands.h>
#include <weft/search/measure/product_sample.h>
#include <weft/search/measure/trial_problem.h>
#include <weft/search/measure/verify.h>
#include <weft/search/records/recorded_problem.h>
#include <weft/search/spaces/problems.h>
#include <xxhash.h>

#include <algorithm>
#include <array>

namespace weft {
namespace {

const TensorAccess& factor_of(const Algorithm& algorithm, std::size_t operand) {
  return *std::ranges::find(algorithm.factors, operand, &TensorAccess::operand);
}

/// The matrix with its dimensions exchanged.
Array transposed(const Array& matrix) {
  const std::int64_t rows = matrix.shape()[0], columns = matrix.shape()[1];
  return channels_last(matrix, 1, rows, columns).reshaped({columns, rows});
}

/// The first element that still has the bits that outputs have before a launch.
std::optional<std::int64_t> first_not_written(const Array& output) {
  const std::size_t width = size_of(output.dtype());
  for (std::int64_t i = 0; i < output.size(); ++i) {
    const std::byte* bytes = output.data() + static_cast<std::size_t>(i) * width;
    if (std::all_of(bytes, bytes + width, [](std::byte each) { return each == std::byte{0xFF}; })) return i;
  }
  return std::nullopt;
}

Record::Pattern pattern_of(const WeightMatrix& matrix) {
  Record::Pattern pattern;
  pattern.stored = matrix.stored();
  pattern.hash = hash_of_pattern(matrix);
  const RowLengths lengths = row_lengths(matrix);
  pattern.row_mean = lengths.mean;
  pattern.row_variation = lengths.variation;
  return pattern;
}

}  // namespace

std::string hash_of_pattern(const WeightMatrix& matrix) {
  XXH3_state_t* state = XXH3_createState();
  XXH3_64bits_reset(state);
  const std::array<std::int64_t, 2> extents{matrix.rows, matrix.columns};
  XXH3_64bits_update(state, extents.data(), sizeof extents);
  XXH3_64bits_update(state, matrix.row_begin.data(), matrix.row_begin.size() * sizeof(std::int64_t));
  XXH3_64bits_update(state, matrix.column.data(), matrix.column.size() * sizeof(std::int32_t));
  const std::uint64_t hash = XXH3_64bits_digest(state);
  XXH3_freeState(state);
  return fmt::format("xxh3:{:016x}", hash);
}

Arguments TrialProblem::arguments() {
  Arguments all;
  for (auto& [name, array] : tensors) all.tensors[name] = &array;
  all.scalars = scalars;
  return all;
}

const Operand& TrialProblem::output() const {
  return what.algorithm.operands[what.algorithm.output.operand];
}

ProblemSummary TrialProblem::summary() const {
  return summary_of(what.algorithm, *what.matrix, what.format);
}

bool TrialProblem::has_output_across() const {
  return begins_with_columns(what.algorithm, what.algorithm.output);
}

std::optional<Workload> TrialProblem::workload() const {
  if (!is_plain_product(what.algorithm)) return std::nullopt;
  return product();
}

std::optional<Workload> TrialProblem::product() const {
  const ProductLoops loops = product_loops(what.algorithm);
  if (loops.dense.empty() || what.algorithm.factors.size() != 2) return std::nullopt;
  const Array& b = tensors.at(loops.dense);
  const std::size_t dense = dense_operand(what.algorithm);
  const bool across = begins_with_columns(what.algorithm, factor_of(what.algorithm, dense));
  const DType factors = b.dtype();
  const bool plain_type =
      results_of(factors) == output().dtype && what.algorithm.operands[dense].strides.empty();
  std::vector<std::int64_t> shape{what.matrix->columns, columns};
  if (across) std::ranges::reverse(shape);
  if (!plain_type || b.shape() != shape) return std::nullopt;
  Workload workload;
  workload.problem.id = "1";
  workload.problem.m = what.matrix->rows;
  workload.problem.k = what.matrix->columns;
  workload.problem.n = columns;
  workload.algorithm = spmm_algorithm(workload.problem.m, workload.problem.k, columns, factors);
  workload.dtype = factors;
  workload.matrix = *what.matrix;
  workload.source = what.matrix->origin;
  // Libraries multiply either as fast as the other.
  workload.b = std::make_shared<const Array>(across ? transposed(b) : b);
  return workload;
}

std::optional<Workload> TrialProblem::images() const {
  if (!convolution) return std::nullopt;
  const Array& given = tensors.at(what.algorithm.operands[dense_operand(what.algorithm)].name);
  if (given.dtype() != output().dtype) return std::nullopt;
  Workload workload;
  workload.problem.id = "1";
  workload.problem.m = what.matrix->rows;
  workload.problem.k = what.matrix->columns / image_groups;
  workload.problem.image_groups = image_groups;
  workload.problem.n = columns;
  workload.problem.convolution = *convolution;
  workload.problem.convolution->layout = ImageLayout::nchw;
  workload.problem.layout = convolution->layout;
  workload.algorithm = convolution_algorithm(*workload.problem.convolution, output().dtype);
  workload.dtype = output().dtype;
  workload.matrix = *what.matrix;
  workload.source = what.matrix->origin;
  workload.b = std::make_shared<const Array>(channels_first(given, convolution->layout));
  return workload;
}

Record record_for(const TrialProblem& problem, const Target& target, const std::string& measure,
                  const DeviceDescription* device) {
  Record record;
  record.kernel = problem.kernel;
  record.problem = recorded_problem(problem.what.algorithm, *problem.what.matrix, problem.columns);
  record.pattern = pattern_of(*problem.what.matrix);
  record.target.name = target.name;
  record.target.shared_bytes = target.shared_bytes_per_block;
  if (device != nullptr) {
    record.target.gpu = device->model;
    record.target.multiprocessors = device->multiprocessors;
    // Kernels of the CPU take every core unless they are told otherwise, and trials are not.
    if (measure == "cpu") {
      record.target.threads = device->logical_cores;
      record.target.first_cache = target.first_cache_bytes;
      record.target.second_cache = target.second_cache_bytes;
    }
    if (device->driver_version > 0) record.toolchain["driver"] = std::to_string(device->driver_version);
  }
  record.toolchain["weft"] = weft_version();
  // A model knows nothing of compilers, and the CPU needs none of CUDA's.
  if (measure == "gpu" && cuda::toolkit().ptxas.found())
    record.toolchain["ptxas"] = cuda::toolkit().ptxas.version;
  record.measure = measure;
  record.source = problem.source;
  set_format(record, problem.what.format);
  return record;
}

void set_format(Record& record, const Format& format) {
  record.pattern.kind = format.text();
  const auto rows_of_group = format.parameters.find("V");
  record.pattern.group = rows_of_group == format.parameters.end() ? 0 : rows_of_group->second;
  if (!record.source.empty()) record.source["format"] = record.pattern.kind;
}

OutputCheck::OutputCheck(TrialProblem& problem, double budget)
    : problem_(&problem), workload_(problem.workload()) {
  if (workload_) {
    checker_.emplace(*workload_, budget);
    return;
  }
  if (auto sample = ProductSample::of(problem, budget))
    sample_ = std::make_unique<ProductSample>(std::move(*sample));
  const WeightMatrix& matrix = sample_ ? sample_->matrix() : *problem.what.matrix;
  weights_ = std::make_shared<const SparseTensor>(pack(matrix, formats::csr()));
  reference_ = sample_ ? reference(sample_->algorithm(), weights_.get(), sample_->arguments())
                       : reference(problem.what.algorithm, weights_.get(), problem.arguments());
}

OutputCheck::~OutputCheck() = default;

OutputCheck::Found OutputCheck::check(const Array& output) const {
  if (checker_) {
    const DenseType arithmetic = dense_type_of(output.dtype()).value_or(DenseType::f32);
    const Check found =
        checker_->check(problem_->has_output_across() ? transposed(output) : output, arithmetic, true);
    return {{found.relative, 0, found.rows, found.against_trusted}, found.reason};
  }
  if (sample_) {
    const Verification found = verify(sample_->algorithm(), sample_->of_output(output), *reference_);
    std::string reason = found.passed ? std::string() : found.text();
    if (const auto place = first_not_written(output); found.passed && place)
      reason = fmt::format("element {} of the output was not written", *place);
    return {{found.difference.relative, found.difference.largest_scaled, sample_->rows(), false}, reason};
  }
  const Verification found = verify(problem_->what.algorithm, output, *reference_);
  return {{found.difference.relative, found.difference.largest_scaled, problem_->what.matrix->rows, false},
          found.passed ? std::string() : found.text()};
}

bool OutputCheck::wants_trusted() const {
  return checker_ && !checker_->complete() && !checker_->has_trusted();
}

void OutputCheck::trust(Array output) {
  if (checker_) checker_->trust(std::move(output));
}

}  // namespace weft
