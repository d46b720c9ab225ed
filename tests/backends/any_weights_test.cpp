// One kernel for weights of every size and pattern of a format: sizes are given at launch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/kernel.h>
#include <weft/dsl/assignment.h>
#include <weft/dsl/errors.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/program/build_program.h>
#include <weft/scheduler/recipes/grouped/shfl_bw.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/search/measure/verify.h>
#include <weft/search/spaces/problems.h>

#include <cmath>

namespace weft {
namespace {

using testing::HasSubstr;
using SharedWeights = std::shared_ptr<const SparseTensor>;

struct Size {
  std::int64_t rows = 0, columns = 0, n = 0;
  double sparsity = 0.8;
};

SharedWeights weights_of(const Size& size, DType dtype, const std::string& format) {
  return std::make_shared<const SparseTensor>(
      pack(synthetic_layer(
               {.rows = size.rows, .columns = size.columns, .sparsity = size.sparsity, .dtype = dtype}),
           parse_format(format)));
}

Algorithm any_product(DType dtype, std::int64_t multiple) {
  return spmm_algorithm(Extent::any("M"), Extent::any("K"), Extent::any("N", multiple), dtype);
}

/// The operands of a launch.
struct Launch {
  Array b, c;
  Arguments arguments;

  Launch(const SharedWeights& weights, std::int64_t n)
      : b(random_array(weights->dtype(), {weights->columns(), n}, 7, RandomValues::small_integers)),
        c(weights->dtype(), {weights->rows(), n}),
        arguments{{{"B", &b}, {"C", &c}}, {}, weights} {
    for (std::int64_t i = 0; i < c.size(); ++i) c.set(i, std::nan(""));
  }
};

void expect_right(const Kernel& kernel, const Device& device, const std::string& format, const Size& size) {
  SCOPED_TRACE(testing::Message() << size.rows << " x " << size.columns << " x " << size.n);
  const DType dtype = kernel.schedule().weights()->dtype();
  Launch launch(weights_of(size, dtype, format), size.n);
  const Verification found = verify(kernel, device, launch.arguments);
  EXPECT_TRUE(found.passed) << found.text();
}

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

/// Rows of 4 iterations may be more than there are, and the order of rows ends with the last one.
TEST(AnyWeights, CopiesAheadAskNoOrderBehindTheLastRow) {
  const Tensor<f32, 2, Storage::sparse> a("A", {Extent::any("M"), 39});
  const Tensor<f32, 2> b("B", {39, 37}), scale("D", {Extent::any("M"), 37}), c("C", {Extent::any("M"), 37});
  const Algorithm scaled = algorithm("scaled", c(m, n) = sum(k, a(m, k) * b(k, n)) * scale(m, n));
  const SharedWeights weights = weights_of({.rows = 11, .columns = 39}, DType::f32, "csr:order=length");
  const auto staged = [&](std::int64_t buffers) {
    Schedule s = schedule(scaled, weights, target_named("sm_86"));
    s.reorder({n, m}).bind(n, block_x).split(m = 4);
    s.stage(std::string("D"), shared, at = LoopName("m.inner"), weft::depth = buffers);
    return s;
  };
  EXPECT_NO_THROW(staged(1));
  try {
    staged(2);
    FAIL() << "the order of rows would be read behind its end";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("ahead of the condition that keeps it inside of"));
  }
}

/// A block ends where its own number of columns does, which the loop that is cut does not know.
TEST(AnyWeights, CopiesAheadAskNoListBehindItsLastBlock) {
  const SharedWeights weights = weights_of({.rows = 8, .columns = 40}, DType::f32, "hb_ell:every=8");
  const auto staged = [&](std::int64_t buffers) {
    Schedule s = schedule(spmm_algorithm(8, 40, 3, DType::f32), weights, target_named("sm_90"));
    s.split(LoopName("k.place") = 8)
        .stage(std::string("B"), shared, at = LoopName("k.place.inner"), weft::depth = buffers);
    return s;
  };
  EXPECT_NO_THROW(staged(1));
  try {
    staged(4);
    FAIL() << "the list of columns would be read behind its end";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("ahead of the condition that keeps it inside of"));
  }
}

TEST(AnyWeights, WarpgroupsTakeThem) {
  const std::string format = "shfl_bw:V=64,k=32";
  for (const std::string target : {"sm_90a", "sm_80"}) {
    SCOPED_TRACE(target);
    const SharedWeights example = weights_of({64, 64, 64}, DType::f16, format);
    KernelOptions options;
    options.assemble = false;
    const Kernel kernel = compile(
        shfl_bw(any_product(DType::f16, 8), example, target_named(target), {.tile_n = 64, .blocks = 3}),
        options);
    EXPECT_EQ(kernel.schedule().cpp().find("specialize_warps") != std::string::npos, target == "sm_90a");
    const Device device = Device::simulator(target);
    for (const Size& size : {Size{64, 64, 64}, Size{200, 90, 8}, Size{1, 1, 72}, Size{130, 300, 136, 0.95}})
      expect_right(kernel, device, format, size);
  }
}

TEST(AnyWeights, OddWidthsToo) {
  const std::string format = "vector_wise:V=32,k=16";
  const SharedWeights example = weights_of({64, 64, 64}, DType::f16, format);
  KernelOptions options;
  options.assemble = false;
  const Kernel kernel =
      compile(shfl_bw(any_product(DType::f16, 1), example, target_named("sm_80"), {.tile_n = 64}), options);
  for (const Size& size : {Size{64, 64, 1}, Size{70, 33, 7}, Size{31, 129, 65}})
    expect_right(kernel, Device::simulator("sm_80"), format, size);
}

/// Which columns there are is not known before a launch: the tile is all of B, its first row included.
TEST(AnyWeights, TilesHoldTheWholeOperand) {
  for (const std::string format : {"csr", "ell", "padded_csr"}) {
    SCOPED_TRACE(format);
    const Algorithm product = spmm_algorithm(Extent::any("M"), 13, 20, DType::f32);
    Schedule s = schedule(product, weights_of({8, 13, 20}, DType::f32, format), target_named("sm_80"));
    s.stage("B", shared, at = "m");
    KernelOptions options;
    options.assemble = false;
    const Kernel kernel = compile(s, options);
    expect_right(kernel, Device::simulator("sm_80"), format, Size{8, 13, 20});
    // Rows of ell have the width of its longest, which is part of the kernel.
    if (format != "ell") expect_right(kernel, Device::simulator("sm_80"), format, Size{5, 13, 20, 0.3});
  }
}

TEST(AnyWeights, DefaultSchedulesTakeThem) {
  for (const std::string format : {"csr", "bcsr:b=16", "padded_csr"}) {
    SCOPED_TRACE(format);
    const SharedWeights example = weights_of({32, 32, 32}, DType::f32, format);
    const Kernel on_cpu = compile(default_schedule(any_product(DType::f32, 1), example, target_named("cpu")));
    const Kernel on_gpu = compile(
        default_schedule(any_product(DType::f32, 1), example, target_named("sm_80")), {.assemble = false});
    for (const Size& size : {Size{32, 32, 32}, Size{77, 50, 3}, Size{1, 200, 33}, Size{20, 1, 1}}) {
      expect_right(on_cpu, Device::cpu(), format, size);
      expect_right(on_gpu, Device::simulator("sm_80"), format, size);
    }
  }
}

std::string refusal(const Kernel& kernel, const Arguments& arguments) {
  try {
    kernel.bind(Device::cpu(), arguments);
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(AnyWeights, WhatDoesNotFitIsRefused) {
  const Size size{48, 40, 16};
  const SharedWeights example = weights_of(size, DType::f32, "csr");
  const Kernel kernel = compile(default_schedule(any_product(DType::f32, 8), example, target_named("cpu")));
  Launch right(example, 16);
  EXPECT_EQ(refusal(kernel, right.arguments), "accepted");

  Launch odd(example, 12);
  EXPECT_THAT(refusal(kernel, odd.arguments), HasSubstr("a multiple of 8"));
  Launch other_format(weights_of(size, DType::f32, "bcsr:b=16"), 16);
  EXPECT_THAT(refusal(kernel, other_format.arguments), HasSubstr("not packed as the kernel reads them"));
  Launch narrower(example, 16);
  narrower.arguments.weights = weights_of({48, 41, 16}, DType::f32, "csr");
  EXPECT_THAT(refusal(kernel, narrower.arguments), HasSubstr("disagree about K"));

  const Kernel of_its_own =
      compile(default_schedule(spmm_algorithm(48, 40, 16, DType::f32), example, target_named("cpu")));
  Launch others(weights_of(size, DType::f32, "csr"), 16);
  EXPECT_THAT(refusal(of_its_own, others.arguments), HasSubstr("made for other weights"));
  EXPECT_THROW(build_program(any_product(DType::f32, 1), weights_of(size, DType::f32, "csc").get()),
               UserError);
}

TEST(AnyWeights, WeightsDoNotBecomeCode) {
  const SharedWeights example = weights_of({48, 40, 16}, DType::f32, "csr");
  Schedule schedule(any_product(DType::f32, 1), example, target_named("sm_80"));
  schedule.split(LoopFactor{LoopName("m"), 8});
  EXPECT_THROW(schedule.bake_values(LoopName("m.inner")), UserError);
  EXPECT_THROW(schedule.balance(LoopName("m"), parts = 4), UserError);
}

}  // namespace
}  // namespace weft
