#include "support/random_schedule.h"

#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/steps/parts/loops.h>
#include <weft/search/spaces/problems.h>

#include <algorithm>

#include "formats/generated_matrices.h"

namespace weft::test {
namespace {

std::int64_t between(std::mt19937_64& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

template <class T>
const T& any_of(std::mt19937_64& random, const std::vector<T>& values) {
  return values[random() % values.size()];
}

Epilogue random_epilogue(std::mt19937_64& random) {
  Epilogue epilogue;
  epilogue.alpha = random() % 4 == 0;
  epilogue.beta = random() % 4 == 0;
  epilogue.bias = random() % 3 == 0;
  epilogue.activation = any_of<Activation>(
      random, {Activation::none, Activation::none, Activation::none, Activation::relu, Activation::relu6,
               Activation::gelu, Activation::tanh, Activation::sigmoid, Activation::silu});
  return epilogue;
}

Convolution random_convolution(std::mt19937_64& random) {
  Convolution c;
  c.batch = between(random, 1, 3);
  c.channels = between(random, 1, 5);
  c.filters = between(random, 1, 9);
  for (std::size_t i = 0; i < 2; ++i) {
    c.filter[i] = between(random, 1, 3);
    c.pad[i] = between(random, 0, 4);
    c.stride[i] = between(random, 1, 3);
    c.dilation[i] = between(random, 1, 2);
    c.image[i] = between(random, 1, 12) + c.dilation[i] * (c.filter[i] - 1);
  }
  c.layout = any_of<ImageLayout>(random, {ImageLayout::nchw, ImageLayout::nhwc, ImageLayout::chwn});
  return c;
}

std::vector<std::int64_t> shape_of(const Operand& operand, std::int64_t size) {
  std::vector<std::int64_t> shape;
  for (const Extent& extent : operand.shape) shape.push_back(extent.is_static() ? extent.value : size);
  return shape;
}

}  // namespace

Arguments RandomProblem::arguments() {
  Arguments result;
  for (auto& [name, array] : tensors) result.tensors[name] = &array;
  result.scalars = scalars;
  return result;
}

std::string RandomProblem::text() const {
  return algorithm.text() + " in " + weights->format().text();
}

RandomProblem random_problem(std::mt19937_64& random) {
  static const std::vector<DType> dtypes{DType::f32,  DType::f32,  DType::f16,
                                         DType::bf16, DType::e4m3, DType::e5m2};
  const DType dtype = any_of(random, dtypes);
  RandomProblem problem;
  WeightMatrix& matrix = problem.matrix;
  const double sparsity = any_of<double>(random, {0.5, 0.8, 0.95, 1.0});
  if (random() % 3 == 0) {
    const Convolution c = random_convolution(random);
    matrix = synthetic_layer({.rows = c.filters,
                              .columns = c.channels * c.filter[0] * c.filter[1],
                              .sparsity = sparsity,
                              .dtype = dtype,
                              .seed = random()});
    matrix.shape = {c.filters, c.channels, c.filter[0], c.filter[1]};
    problem.algorithm = convolution_algorithm(c, dtype, random_epilogue(random));
  } else {
    const std::int64_t rows = between(random, 1, 40);
    const std::int64_t columns = between(random, 1, 50);
    matrix = synthetic_layer(
        {.rows = rows, .columns = columns, .sparsity = sparsity, .dtype = dtype, .seed = random()});
    const Extent n = random() % 2 == 0 ? Extent::any("N") : Extent(between(random, 1, 70));
    problem.algorithm = spmm_algorithm(rows, columns, n, dtype, random_epilogue(random));
  }
  const Format format = any_of<Format>(
      random,
      {formats::csr(), formats::csr(), formats::csc(), formats::coo(), formats::ell(), formats::dense(),
       formats::bcsr(4), formats::blocked_ell(8), formats::vector_wise({.rows = 8, .places = 16}),
       formats::shfl_bw({.rows = 8, .places = 32}), formats::n_m({.rows = 16}), formats::v_n_m({.rows = 16}),
       parse_format("hb_ell:pairs=1"), formats::sliced_ell({.slice = 4, .pad = 2, .deal = 2})});
  matrix = fitted(matrix, format);
  problem.weights = std::make_shared<const SparseTensor>(pack(matrix, format));
  const std::int64_t size = between(random, 1, 70);
  for (const Operand& operand : problem.algorithm.operands) {
    if (operand.storage == Storage::sparse) continue;
    problem.tensors[operand.name] =
        random_array(operand.dtype, shape_of(operand, size), random(), RandomValues::uniform);
  }
  for (const std::string& scalar : problem.algorithm.scalars)
    problem.scalars[scalar] = static_cast<double>(between(random, -3, 3)) / 2;
  return problem;
}

namespace {

Step random_step(const Schedule& schedule, std::mt19937_64& random) {
  const auto loops = ir::loop_names(schedule.program().body);
  const auto loop = [&] { return loops.empty() ? std::string("m") : any_of(random, loops); };
  const auto factor = [&] { return any_of<std::int64_t>(random, {1, 2, 3, 4, 5, 8, 16, 32, 64}); };
  static const std::vector<std::string> on_cpu{"split",       "split",     "tile",     "reorder", "reorder",
                                               "unroll",      "vectorize", "parallel", "stage",   "split_k",
                                               "bake_values", "fuse",      "stagger",  "peel"};
  static const std::vector<std::string> on_gpu{
      "split",    "split",   "tile", "reorder",   "reorder",         "unroll",      "vectorize",
      "bind",     "bind",    "bind", "stage",     "split_k",         "bake_values", "fuse",
      "resident", "stagger", "peel", "transpose", "overlap_launches"};
  const std::string name = any_of(random, schedule.target().is_gpu() ? on_gpu : on_cpu);
  Step step{name, {}, {}};
  if (name == "split") {
    step.arguments = {{loop(), factor()}};
  } else if (name == "fuse") {
    // Those that follow one another are often directly inside one another.
    const std::string outer = loop();
    const auto inner = std::find(loops.begin(), loops.end(), outer) + 1;
    step.arguments = {{{}, outer}, {{}, inner < loops.end() ? *inner : loop()}};
  } else if (name == "stagger") {
    step.arguments = {{{}, loop()}, {{}, loop()}};
  } else if (name == "peel") {
    step.arguments = {{{}, loop()}, {random() % 3 == 0 ? "from_begin" : "from_end", between(random, 1, 2)}};
  } else if (name == "tile") {
    step.arguments = {{loop(), factor()}, {loop(), factor()}};
  } else if (name == "reorder") {
    const std::int64_t count = between(random, 2, 4);
    for (std::int64_t i = 0; i < count; ++i) step.arguments.push_back({{}, loop()});
  } else if (name == "bake_values") {
    // Compilers take seconds for tens of thousands of statements.
    step.arguments = {{{}, loop()}, {"code_bytes", std::int64_t{2048}}};
    if (random() % 2 == 0) step.arguments.push_back({"chunk", factor()});
  } else if (name == "resident") {
    step.arguments = {{"blocks", between(random, 0, 4)}};
  } else if (name == "split_k") {
    step.arguments = {{{}, loop()}, {"groups", factor()}};
  } else if (name == "bind") {
    static const std::vector<std::string> axes{"block_x", "block_y", "block_z", "warp", "lane", "thread"};
    step.arguments = {{{}, loop()}, {{}, any_of(random, axes)}};
  } else if (name == "overlap_launches") {
    step.arguments = {{{}, random() % 4 == 0 ? "B" : "A"}};
  } else if (name == "transpose") {
    step.arguments = {{{}, random() % 2 == 0 ? "B" : "C"}};
  } else if (name == "stage") {
    static const std::vector<std::string> tensors{"A", "B", "bias", "C"};
    static const std::vector<std::string> scopes{"shared", "registers", "shared", "registers",
                                                 "shared", "registers", "shared", "shifted"};
    step.arguments = {{{}, any_of(random, tensors)}, {{}, scopes[random() % scopes.size()]}, {"at", loop()}};
    if (random() % 3 == 0) step.arguments.push_back({"depth", between(random, 1, 8)});
  } else {
    step.arguments = {{{}, loop()}};
  }
  return step;
}

}  // namespace

RandomSteps apply_random_steps(Schedule& schedule, int count, std::mt19937_64& random) {
  RandomSteps result;
  for (int i = 0; i < count; ++i) {
    const Step step = random_step(schedule, random);
    const auto reason = schedule.try_apply(step);
    if (!reason) {
      ++result.applied;
      continue;
    }
    ++result.refused;
    const auto asked = step_kind(step.name).preconditions;
    if (reason->found.empty() || reason->accepted.empty() ||
        std::ranges::find(asked, reason->precondition, &Precondition::number) == asked.end())
      result.silent.push_back(step.cpp());
  }
  return result;
}

}  // namespace weft::test
