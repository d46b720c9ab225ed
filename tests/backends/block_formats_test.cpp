// Programs over weights in blocks and groups of rows: products, linear layers and convolutions of odd shapes,
// unscheduled and by default schedules, on the CPU and in the simulator, against f64.
#include <gtest/gtest.h>
#include <weft/backends/cuda/compile.h>
#include <weft/backends/kernel.h>
#include <weft/backends/simulator/device.h>
#include <weft/dsl/assignment.h>
#include <weft/dsl/errors.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/search/measure/verify.h>
#include <weft/search/spaces/problems.h>

#include <cmath>
#include <map>

#include "formats/generated_matrices.h"

namespace weft {
namespace {

struct Problem {
  Algorithm algorithm;
  WeightMatrix weights;
  std::map<std::string, Array> operands;
  std::map<std::string, double> scalars;

  Arguments arguments() {
    Arguments result;
    for (auto& [name, array] : operands) result.tensors[name] = &array;
    result.scalars = scalars;
    return result;
  }
};

/// Whole blocks of rows without an entry, rows of unequal length.
WeightMatrix weights_of(std::int64_t rows, std::int64_t columns, DType dtype, std::uint64_t seed) {
  const WeightMatrix all = synthetic_layer(
      {.rows = rows, .columns = columns, .sparsity = 0.6, .row_spread = {}, .dtype = dtype, .seed = seed});
  Array dense = to_dense(all);
  for (std::int64_t row = 8; row < std::min<std::int64_t>(rows, 16); ++row) {
    for (std::int64_t column = 0; column < columns; ++column) dense.set(row * columns + column, 0);
  }
  return from_dense(dense, "uneven");
}

Problem product(std::int64_t rows, std::int64_t inner, std::int64_t columns, DType dtype,
                const Epilogue& epilogue = {}, bool at_launch = false) {
  Problem made{spmm_algorithm(rows, inner, at_launch ? Extent::any("N") : Extent(columns), dtype, epilogue),
               weights_of(rows, inner, dtype, static_cast<std::uint64_t>(rows + inner)),
               {},
               {}};
  made.operands.emplace("B", random_array(dtype, {inner, columns}, 3));
  made.operands.emplace("C", random_array(dtype, {rows, columns}, 4));
  if (epilogue.bias) made.operands.emplace("bias", random_array(dtype, {rows}, 5));
  if (epilogue.alpha) made.scalars["alpha"] = 0.5;
  if (epilogue.beta) made.scalars["beta"] = 2;
  return made;
}

Problem convolution(const Convolution& c, DType dtype) {
  const auto [height, width] = c.output();
  const bool last = c.layout == ImageLayout::nhwc;
  using Shape = std::vector<std::int64_t>;
  Epilogue epilogue;
  epilogue.bias = true;
  epilogue.activation = Activation::relu;
  Problem made{convolution_algorithm(c, dtype, epilogue),
               weights_of(c.filters, c.channels * c.filter[0] * c.filter[1], dtype, 12),
               {},
               {}};
  made.weights.shape = {c.filters, c.channels, c.filter[0], c.filter[1]};
  made.operands.emplace("B", random_array(dtype,
                                          last ? Shape{c.batch, c.image[0], c.image[1], c.channels}
                                               : Shape{c.batch, c.channels, c.image[0], c.image[1]},
                                          3));
  made.operands.emplace("C", random_array(dtype,
                                          last ? Shape{c.batch, height, width, c.filters}
                                               : Shape{c.batch, c.filters, height, width},
                                          4));
  made.operands.emplace("bias", random_array(dtype, {c.filters}, 5));
  return made;
}

/// Each row of the weights has an image of its own: rows that fill up a group have none to read.
Problem depthwise(std::int64_t filters, std::int64_t taps, std::int64_t points) {
  WEFT_INDEX(f);
  WEFT_INDEX(p);
  WEFT_INDEX(r);
  const Tensor<f32, 2, sparse> a("A", {filters, taps});
  const Tensor<f32, 2> image("B", {filters, points}), out("C", {filters, points});
  Problem made{algorithm("depthwise", out(f, p) = sum(r, a(f, r) * image(f, p + r - 1))),
               weights_of(filters, taps, DType::f32, 21),
               {},
               {}};
  made.operands.emplace("B", random_array(DType::f32, {filters, points}, 3));
  made.operands.emplace("C", random_array(DType::f32, {filters, points}, 4));
  return made;
}

std::vector<Problem> problems() {
  Epilogue linear;
  linear.bias = true;
  linear.activation = Activation::gelu;
  Epilogue all = linear;
  all.alpha = all.beta = true;
  Convolution strided;
  strided.batch = 2;
  strided.channels = 3;
  strided.filters = 9;
  strided.image = {9, 7};
  strided.filter = {3, 3};
  strided.pad = {2, 1};
  strided.stride = {2, 1};
  strided.dilation = {1, 2};
  Convolution last = strided;
  last.layout = ImageLayout::nhwc;
  std::vector<Problem> made;
  made.push_back(product(1, 1, 1, DType::f32));
  made.push_back(product(64, 64, 64, DType::f16));
  made.push_back(product(33, 65, 31, DType::f32));
  made.push_back(product(63, 127, 9, DType::bf16, linear));
  made.push_back(product(129, 33, 65, DType::f16, linear));
  made.push_back(product(31, 200, 7, DType::f16, all, true));
  made.push_back(product(65, 9, 1, DType::f32, linear));
  made.push_back(convolution(strided, DType::f16));
  made.push_back(convolution(last, DType::f32));
  made.push_back(depthwise(19, 5, 33));
  return made;
}

std::vector<Format> formats_of_size(std::int64_t size) {
  const std::int64_t small = std::min<std::int64_t>(size, 16);
  std::vector<Format> formats{formats::bcsr(size),
                              formats::blocked_ell(size),
                              formats::hb_ell({.size = small}),
                              formats::hb_ell({.size = small, .offset = 4, .step = 4}),
                              formats::vector_wise({.rows = size}),
                              formats::shfl_bw({.rows = size}),
                              formats::shfl_bw({.rows = size, .places = 32, .index = 16})};
  if (size < 16) return formats;
  formats.push_back(formats::n_m({.rows = size}));
  formats.push_back(formats::v_n_m({.rows = size}));
  formats.push_back(formats::v_n_m({.rows = size, .columns = 20, .places = 128}));
  return formats;
}

void expect_right(const Schedule& schedule, const Device& device, const Problem& problem,
                  const KernelOptions& options) {
  SCOPED_TRACE(device.name() + "\n" + schedule.cpp() + ir::print(schedule.program()));
  const Kernel kernel = compile(schedule, options);
  Problem own = problem;  // beta reads what a kernel before would have written
  try {
    const Verification verification = verify(kernel, device, own.arguments());
    EXPECT_TRUE(verification.passed) << verification.text();
  } catch (const RuntimeError& error) {
    ADD_FAILURE() << error.what() << "\n" << kernel.ptx();
  }
}

template <class Check>
void each_case(const std::vector<std::int64_t>& sizes, const Check& check) {
  for (const Problem& problem : problems()) {
    for (const std::int64_t size : sizes) {
      for (const Format& format : formats_of_size(size)) {
        SCOPED_TRACE(format.text());
        check(problem, std::make_shared<const SparseTensor>(pack(fitted(problem.weights, format), format)));
      }
    }
  }
}

/// Unscheduled a third of them, in which each format has each size.
TEST(BlockFormatPrograms, RunOnTheCpu) {
  int number = 0;
  each_case({8, 32, 128}, [&](const Problem& problem, const std::shared_ptr<const SparseTensor>& weights) {
    KernelOptions options;
    options.threads = 2;
    if ((number + number / 27) % 3 == 0)
      expect_right(Schedule(problem.algorithm, weights, target_named("cpu")), Device::cpu(), problem,
                   options);
    ++number;
    expect_right(default_schedule(problem.algorithm, weights, target_named("cpu")), Device::cpu(), problem,
                 options);
  });
}

TEST(BlockFormatPrograms, RunInTheSimulator) {
  each_case({8, 64}, [](const Problem& problem, const std::shared_ptr<const SparseTensor>& weights) {
    KernelOptions options;
    options.assemble = false;
    const Device device = Device::simulator("sm_90a");
    simulator::options(device).launch.seed = 7;
    expect_right(default_schedule(problem.algorithm, weights, target_named("sm_90a")), device, problem,
                 options);
  });
}

TEST(BlockFormatPrograms, RunInTheSimulatorFromCudaSource) {
  if (!cuda::compiler_status().found()) GTEST_SKIP() << "[SKIP] no NVRTC and no nvcc here";
  const Problem problem = product(31, 65, 33, DType::f16);
  for (const Format& format : formats_of_size(16)) {
    SCOPED_TRACE(format.text());
    const auto weights = std::make_shared<const SparseTensor>(pack(fitted(problem.weights, format), format));
    KernelOptions options;
    options.emitter = Emitter::cuda;
    options.assemble = false;
    expect_right(default_schedule(problem.algorithm, weights, target_named("sm_80")),
                 Device::simulator("sm_80"), problem, options);
  }
}

/// Column 0 of each quad is kept by the other rows alone.
TEST(BlockFormatPrograms, WhatARowDoesNotKeepIsNotRead) {
  Array dense(DType::f16, {20, 40});
  for (std::int64_t row = 0; row < 20; ++row) {
    for (std::int64_t column = 0; column < 40; ++column) {
      const std::int64_t slot = column % 4;
      if (row == 3 ? slot == 1 || slot == 2 : slot == 0 || slot == 3) dense.set(row * 40 + column, 1);
    }
  }
  Array b(DType::f16, {40, 8});
  for (std::int64_t i = 0; i < b.size(); ++i) {
    const std::int64_t slot = i / 8 % 4;
    b.set(i, slot == 1 || slot == 2 ? 2 : i % 3 == 0 ? std::nan("") : INFINITY);
  }
  for (const Format& format : {formats::n_m({.rows = 16}), formats::v_n_m({.rows = 16, .columns = 4})}) {
    for (const char* target : {"cpu", "sm_80"}) {
      SCOPED_TRACE(format.text() + " " + target);
      const auto weights =
          std::make_shared<const SparseTensor>(pack(from_dense(dense, "two of four"), format));
      KernelOptions options;
      options.assemble = false;
      const Kernel kernel = compile(
          default_schedule(spmm_algorithm(20, 40, 8, DType::f16), weights, target_named(target)), options);
      Array c(DType::f16, {20, 8});
      Arguments arguments{{{"B", &b}, {"C", &c}}, {}, {}};
      kernel(std::string(target) == "cpu" ? Device::cpu() : Device::simulator(target), arguments);
      for (std::int64_t i = 0; i < c.size(); ++i) {
        if (i / 8 == 3) {
          EXPECT_EQ(c.get(i), 40);
        } else {
          EXPECT_FALSE(std::isfinite(c.get(i)));
        }
      }
    }
  }
}

TEST(BlockFormatPrograms, NameTheirLoopsAfterBlocks) {
  const auto program = [](const Format& format, std::int64_t rows) {
    const auto weights = std::make_shared<const SparseTensor>(
        pack(fitted(weights_of(rows, 40, DType::f16, 1), format), format));
    return ir::print(
        Schedule(spmm_algorithm(rows, 40, 16, DType::f16), weights, target_named("cpu")).program());
  };
  EXPECT_EQ(
      program(formats::shfl_bw({.rows = 8, .places = 16}), 20),
      R"(program spmm(A.row_order: i32[24], A.begin: i32[4], A.column: i32[96], A.values: f16[6, 8, 16] swizzled 32, B: f16[40, 16], C: f16[20, 16])
  for m.block in 0 .. 3
    for m.row in 0 .. 8
      for n in 0 .. 16
        allocate sum: f32[] in registers
        sum = 0
        for k.block in A.begin[m.block] .. A.begin[m.block + 1]
          for k.place in 0 .. 16
            if 0 <= A.column[k.block * 16 + k.place]
              sum += f32(A.values[k.block, m.row, k.place]) * f32(B[A.column[k.block * 16 + k.place], n])
        if 0 <= A.row_order[m.block * 8 + m.row]
          C[A.row_order[m.block * 8 + m.row], n] = f16(sum)
)");
  EXPECT_EQ(
      program(formats::v_n_m({.rows = 16, .columns = 20}), 20),
      R"(program spmm(A.column: i32[128], A.metadata: i32[2, 1, 1, 32], A.values: f16[2, 16, 32] swizzled 64, B: f16[40, 16], C: f16[20, 16])
  for m.block in 0 .. 2
    for m.row in 0 .. 16
      for n in 0 .. 16
        allocate sum: f32[] in registers
        sum = 0
        for k.block in 0 .. 1
          for k.place in 0 .. 32
            if 0 <= A.column[(m.block + k.block) * 64 + kept_slot(A.metadata[m.block + k.block, 0, 0, m.row % 8 * 4 + k.place / 8], m.row, k.place)]
              sum += f32(A.values[m.block + k.block, m.row, k.place]) * f32(B[A.column[(m.block + k.block) * 64 + kept_slot(A.metadata[m.block + k.block, 0, 0, m.row % 8 * 4 + k.place / 8], m.row, k.place)], n])
        if m.block * 16 + m.row < 20
          C[m.block * 16 + m.row, n] = f16(sum)
)");
  EXPECT_EQ(program(formats::vector_wise({.rows = 8, .places = 16}), 24).find("if m.block"),
            std::string::npos)
      << "rows that fill up groups need no condition";
}

}  // namespace
}  // namespace weft
