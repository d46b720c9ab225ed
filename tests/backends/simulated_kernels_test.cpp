// The kernels of the default schedules run as PTX in the simulator: right, and with nothing found.
#include <gtest/gtest.h>
#include <weft/backends/cuda/compile.h>
#include <weft/backends/kernel.h>
#include <weft/backends/simulator/device.h>
#include <weft/dsl/assignment.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/index.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/scheduler/recipes/unstructured/sparsert.h>
#include <weft/search/measure/verify.h>
#include <weft/search/spaces/problems.h>

namespace weft {
namespace {

struct Case {
  Algorithm algorithm;
  WeightMatrix weights;
  DType dtype = DType::f32;
  std::map<std::string, std::vector<std::int64_t>> shapes;  ///< shapes of the operands that are not sparse
  std::map<std::string, double> scalars;
};

Case product(DType dtype, std::int64_t rows, std::int64_t inner, std::int64_t columns, double sparsity,
             const Epilogue& epilogue = {}) {
  Case made{
      spmm_algorithm(rows, inner, Extent(columns), dtype, epilogue),
      synthetic_layer({.rows = rows, .columns = inner, .sparsity = sparsity, .dtype = dtype, .seed = 11}),
      dtype,
      {{"B", {inner, columns}}, {"C", {rows, columns}}},
      {}};
  if (epilogue.bias) made.shapes["bias"] = {rows};
  if (epilogue.alpha) made.scalars["alpha"] = 0.5;
  if (epilogue.beta) made.scalars["beta"] = 2;
  return made;
}

Case convolution(DType dtype, const Convolution& convolution) {
  const auto [height, width] = convolution.output();
  const bool last = convolution.layout == ImageLayout::nhwc;
  const std::int64_t c = convolution.channels, f = convolution.filters, b = convolution.batch;
  const auto [h, w] = convolution.image;
  const std::int64_t inner = c * convolution.filter[0] * convolution.filter[1];
  using Shape = std::vector<std::int64_t>;
  WeightMatrix weights =
      synthetic_layer({.rows = f, .columns = inner, .sparsity = 0.7, .dtype = dtype, .seed = 12});
  weights.shape = {f, c, convolution.filter[0], convolution.filter[1]};
  return {convolution_algorithm(convolution, dtype),
          std::move(weights),
          dtype,
          {{"B", last ? Shape{b, h, w, c} : Shape{b, c, h, w}},
           {"C", last ? Shape{b, height, width, f} : Shape{b, f, height, width}}},
          {}};
}

std::vector<Case> cases() {
  Epilogue all;
  all.alpha = all.beta = all.bias = true;
  all.activation = Activation::gelu;
  Convolution strided;
  strided.batch = 2;
  strided.channels = 3;
  strided.filters = 5;
  strided.image = {9, 7};
  strided.filter = {3, 3};
  strided.pad = {2, 1};
  strided.stride = {2, 1};
  strided.dilation = {1, 2};
  Convolution last = strided;
  last.layout = ImageLayout::nhwc;
  std::vector<Case> made;
  made.push_back(product(DType::f32, 13, 37, 33, 0.8));
  made.push_back(product(DType::f32, 5, 11, 1, 0.5));
  made.push_back(product(DType::f16, 9, 40, 65, 0.9, all));
  made.push_back(product(DType::bf16, 7, 19, 17, 0.6));
  made.push_back(convolution(DType::f32, strided));
  made.push_back(convolution(DType::f16, last));
  return made;
}

/// Copies as late as they may come, and in some other order.
void run_simulated(const Case& each, const Schedule& schedule, const std::string& target, Emitter emitter) {
  SCOPED_TRACE(target + "\n" + schedule.cpp());
  KernelOptions options;
  options.emitter = emitter;
  options.assemble = false;
  const Kernel kernel = compile(schedule, options);
  Arguments arguments;
  std::map<std::string, Array> arrays;
  for (const auto& [name, shape] : each.shapes) arrays.emplace(name, random_array(each.dtype, shape, 3));
  for (auto& [name, array] : arrays) arguments.tensors[name] = &array;
  arguments.scalars = each.scalars;
  for (const bool late : {true, false}) {
    const Device device = Device::simulator(target);
    simulator::options(device).launch.late = late;
    simulator::options(device).launch.seed = 7;
    try {
      const Verification verification = verify(kernel, device, arguments);
      EXPECT_TRUE(verification.passed) << verification.text();
    } catch (const RuntimeError& error) {
      ADD_FAILURE() << error.what() << "\n" << kernel.ptx();
    }
  }
}

void check(const Case& each, const std::string& format, const std::string& target, Emitter emitter) {
  const Schedule schedule = default_schedule(
      each.algorithm, std::make_shared<const SparseTensor>(pack(each.weights, parse_format(format))),
      target_named(target));
  run_simulated(each, schedule, target, emitter);
}

TEST(SimulatedKernels, ByLlvm) {
  for (const Case& each : cases()) {
    for (const char* format :
         {"csr", "csc", "coo", "ell", "dense", "csr:order=similar,rows=8", "ell:order=length",
          "csr:order=dealt,rows=4", "bcsr:b=4", "blocked_ell:b=8", "vector_wise:V=8,k=16", "shfl_bw:V=8,k=16",
          "shfl_bw:V=16", "sliced_ell:slice=4,pad=2,deal=2", "bitmap"}) {
      for (const char* target : {"sm_75", "sm_80", "sm_90"}) check(each, format, target, Emitter::llvm);
    }
  }
}

void check_sparsert(const Case& each, const SparseRtKnobs& knobs) {
  const auto weights = std::make_shared<const SparseTensor>(pack(each.weights, formats::csr()));
  const Schedule schedule = sparsert(each.algorithm, weights, target_named("sm_80"), knobs);
  const bool in_code = knobs.form == SparseRtForm::chosen || knobs.form == SparseRtForm::baked;
  EXPECT_EQ(schedule.cpp().find("bake_values") != std::string::npos, in_code) << schedule.cpp();
  // Whether an image is staged, the recipe decides by cost.
  if (each.algorithm.sparse_operand()->shape.size() == 2) {
    EXPECT_EQ(schedule.cpp().find("stage(") != std::string::npos, knobs.form == SparseRtForm::streaming);
  }
  run_simulated(each, schedule, "sm_80", Emitter::llvm);
}

TEST(SimulatedKernels, WithWeightsInTheCode) {
  Epilogue all;
  all.alpha = all.beta = all.bias = true;
  all.activation = Activation::relu;
  for (const std::int64_t columns : {1, 2, 7, 31, 33, 49, 65}) {
    check_sparsert(product(DType::f32, 13, 37, columns, 0.8), {});
    check_sparsert(product(DType::f32, 70, 20, columns, 0.95, all), {.rows = 16, .threads = 64, .groups = 1});
    check_sparsert(product(DType::f32, 70, 40, columns, 0.9, all), {.rows = 16, .threads = 64, .groups = 4});
  }
}

TEST(SimulatedKernels, ConvolutionsWithWeightsInTheCode) {
  Convolution square, wide, last, sparse_steps, points, border;
  square.image = {9, 9};
  square.filter = {3, 3};
  square.pad = {1, 1};
  wide = square;
  wide.image = {7, 40};
  wide.batch = 2;
  last = square;
  last.image = {11, 12};
  last.pad = {4, 0};
  last.stride = {3, 1};
  last.layout = ImageLayout::nhwc;
  sparse_steps = square;
  sparse_steps.image = {13, 9};
  sparse_steps.pad = sparse_steps.stride = sparse_steps.dilation = {2, 2};
  sparse_steps.batch = 3;
  points.image = {5, 6};
  points.stride = {2, 3};
  border.image = {4, 70};
  border.filter = {2, 5};
  border.pad = {3, 6};
  border.dilation = {1, 3};
  for (Convolution each : {square, wide, last, sparse_steps, points, border}) {
    each.channels = 3;
    each.filters = 10;
    for (const std::int64_t shares : {0, 1, 3})
      check_sparsert(convolution(DType::f32, each), {.rows = 4, .groups = shares});
  }
}

TEST(SimulatedKernels, ConvolutionsOfLongLines) {
  Convolution c;
  c.channels = 64;  // enough entries for several groups beside the warps of a line
  c.filters = 3;
  c.filter = {3, 3};
  c.pad = {1, 1};
  for (const std::int64_t width : {33, 300, 512}) {
    c.image = {2, width};
    check_sparsert(convolution(DType::f32, c), {.rows = 4});
  }
  // More than the warps of a block: the default schedule.
  c.image = {2, 1100};
  const Case long_line = convolution(DType::f32, c);
  const auto weights = std::make_shared<const SparseTensor>(pack(long_line.weights, formats::csr()));
  run_simulated(long_line, sparsert(long_line.algorithm, weights, target_named("sm_80"), {}), "sm_80",
                Emitter::llvm);
}

TEST(SimulatedKernels, WithWeightsInMemory) {
  Epilogue all;
  all.alpha = all.beta = all.bias = true;
  all.activation = Activation::relu;
  for (const std::int64_t columns : {1, 31, 49, 65, 130, 200}) {
    for (const SparseRtForm form : {SparseRtForm::streaming, SparseRtForm::row_per_warp}) {
      for (const std::int64_t of_lane : {1, 2, 4}) {
        check_sparsert(product(DType::f32, 21, 37, columns, 0.8, all),
                       {.form = form, .rows = 3, .threads = 128, .columns = of_lane});
      }
    }
  }
}

TEST(SimulatedKernels, ByCudaSource) {
  if (!cuda::compiler_status().found()) GTEST_SKIP() << "no NVRTC and no nvcc here";
  for (const Case& each : cases()) {
    for (const char* format : {"csr", "csc", "ell", "bitmap"}) check(each, format, "sm_80", Emitter::cuda);
  }
}

/// Words of bits are negative where indices of the same names as the function's operands are not.
TEST(SimulatedKernels, ByCudaSourceWithIndicesOfShortNames) {
  if (!cuda::compiler_status().found()) GTEST_SKIP() << "no NVRTC and no nvcc here";
  WEFT_INDEX(a);
  WEFT_INDEX(b);
  WEFT_INDEX(c);
  const Tensor<f32, 2, sparse> weights("W", {8, 128});
  const Tensor<f32, 2> operand("X", {128, 9});
  const Tensor<f32, 2> result("Y", {9, 8});
  const Algorithm transposed = algorithm("transposed", result(b, a) = sum(c, weights(a, c) * operand(c, b)));
  const WeightMatrix matrix = synthetic_layer({.rows = 8, .columns = 128, .sparsity = 0.5, .seed = 2});
  const Kernel kernel = compile(
      default_schedule(transposed, std::make_shared<const SparseTensor>(pack(matrix, parse_format("bitmap"))),
                       target_named("sm_80")),
      {.emitter = Emitter::cuda, .assemble = false});
  Array x = random_array(DType::f32, {128, 9}, 3), y(DType::f32, {9, 8});
  const Verification verification = verify(kernel, Device::simulator("sm_80"), {{{"X", &x}, {"Y", &y}}, {}});
  EXPECT_TRUE(verification.passed) << verification.text();
}

}  // namespace
}  // namespace weft
