// hb_ell on the simulated sparse tensor core: Algorithm 1 of its paper by its meaning and as PTX in the
// simulator, at sizes that fill no block, and who refuses its kernels.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/export/export.h>
#include <weft/backends/kernel.h>
#include <weft/backends/simulator/device.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/index.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>
#include <weft/scheduler/recipes/blocks/hb_ell.h>
#include <weft/scheduler/recipes/blocks/hb_ell_swmma.h>
#include <weft/search/measure/verify.h>
#include <weft/search/spaces/problems.h>

#include <limits>

namespace weft {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* simulated = "sm_70_swmma";

/// Each place has a whole number with this probability.
WeightMatrix random_matrix(std::int64_t rows, std::int64_t columns, double density, std::uint64_t seed) {
  Random random(seed);
  Array dense(DType::f16, {rows, columns});
  for (std::int64_t i = 0; i < dense.size(); ++i)
    dense.set(i, random.uniform() < density ? static_cast<double>(random.below(8) + 1) : 0);
  return from_dense(dense, "made");
}

std::shared_ptr<const SparseTensor> packed(const WeightMatrix& matrix, const char* format) {
  return std::make_shared<const SparseTensor>(pack(matrix, parse_format(format)));
}

struct Operands {
  Array b, c, bias;
  Arguments arguments;

  Operands(const Algorithm& algorithm, std::int64_t rows, std::int64_t depth, std::int64_t columns)
      : b(random_array(DType::f16, {depth, columns}, 7, RandomValues::small_integers)),
        c(random_array(DType::f16, {rows, columns}, 8, RandomValues::small_integers)),
        bias(random_array(DType::f16, {rows}, 9, RandomValues::small_integers)) {
    arguments.tensors = {{"B", &b}, {"C", &c}};
    if (algorithm.text().find("bias") != std::string::npos) arguments.tensors["bias"] = &bias;
    for (const std::string& scalar : algorithm.scalars) arguments.scalars[scalar] = 1;
  }
};

void expect_right(const Schedule& schedule, std::int64_t columns) {
  const Algorithm& algorithm = schedule.algorithm();
  const SparseTensor& weights = *schedule.weights();
  Operands operands(algorithm, weights.rows(), weights.columns(), columns);
  KernelOptions by_meaning;
  by_meaning.by_meaning = true;
  const Verification meaning = verify(compile(schedule, by_meaning), Device::cpu(), operands.arguments);
  ASSERT_TRUE(meaning.passed) << meaning.text() << "\n" << schedule.cpp();
  const Kernel kernel = compile(schedule);
  for (const std::uint64_t seed : {0U, 1U}) {
    const Device device = Device::simulator(simulated);
    simulator::options(device).launch.seed = seed;
    Operands own(algorithm, weights.rows(), weights.columns(), columns);
    const Verification verification = verify(kernel, device, own.arguments);
    ASSERT_TRUE(verification.passed) << verification.text() << "\n" << schedule.cpp();
  }
}

struct Sizes {
  std::int64_t rows, depth, columns;
};

TEST(HbEllSwmma, EverySizeAndDensity) {
  const HbEllSwmmaKnobs small{.warps_m = 2, .warps_n = 2};
  for (const Sizes& sizes : {Sizes{16, 16, 16}, Sizes{40, 70, 64}, Sizes{33, 47, 40}, Sizes{1, 5, 1},
                             Sizes{70, 16, 33}, Sizes{64, 129, 7}}) {
    for (const double density : {0.0, 0.1, 0.5, 0.95}) {
      SCOPED_TRACE(fmt::format("{} x {} x {}, {}", sizes.rows, sizes.depth, sizes.columns, density));
      const Algorithm product = spmm_algorithm(sizes.rows, sizes.depth, Extent(sizes.columns), DType::f16);
      const auto weights = packed(random_matrix(sizes.rows, sizes.depth, density, 11), "hb_ell:step=4");
      expect_right(hb_ell_swmma(product, weights, target_named(simulated), small), sizes.columns);
    }
  }
}

TEST(HbEllSwmma, OffsetsOfFourBitsAndOneWidth) {
  for (const char* format :
       {"hb_ell:step=4,offset=4", "hb_ell:step=4,uniform=1", "hb_ell:step=4,every=2", "hb_ell"}) {
    for (const double density : {0.0, 0.1, 0.9}) {
      SCOPED_TRACE(fmt::format("{}, {}", format, density));
      const Algorithm product = spmm_algorithm(48, 40, Extent(24), DType::f16);
      const auto weights = packed(random_matrix(48, 40, density, 5), format);
      expect_right(hb_ell_swmma(product, weights, target_named(simulated)), 24);
    }
  }
}

TEST(HbEllSwmma, EpiloguesAndSizesAtLaunch) {
  Epilogue all;
  all.alpha = all.beta = all.bias = true;
  all.activation = Activation::relu;
  const auto weights = packed(random_matrix(50, 60, 0.2, 3), "hb_ell:step=4");
  expect_right(
      hb_ell_swmma(spmm_algorithm(50, 60, Extent(40), DType::f16, all), weights, target_named(simulated)),
      40);
  expect_right(
      hb_ell_swmma(spmm_algorithm(50, 60, Extent::any("N"), DType::f16), weights, target_named(simulated)),
      21);
}

TEST(HbEllSwmma, FiveHundredAndTwelveThreadsAsInThePaper) {
  const auto weights = packed(random_matrix(128, 16, 0.1, 3), "hb_ell:step=4");
  const Kernel kernel = compile(
      hb_ell_swmma(spmm_algorithm(128, 16, Extent(128), DType::f16), weights, target_named(simulated)));
  EXPECT_EQ(kernel.lowered().launch.threads, 512);
  for (const char* text : {"swmma.load.a.4 ", "swmma.load.a.8 ", "swmma.load.a.16 ", "swmma.load.offset.4 ",
                           "swmma.load.b ", "swmma.mma.f32.f32.8 "})
    EXPECT_THAT(kernel.ptx(), HasSubstr(text));
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(HbEllSwmma, NobodyElseTakesItsKernels) {
  const Algorithm product = spmm_algorithm(32, 32, Extent(32), DType::f16);
  const auto weights = packed(random_matrix(32, 32, 0.3, 3), "hb_ell:step=4");
  const Schedule schedule = hb_ell_swmma(product, weights, target_named(simulated));
  EXPECT_THAT(message_of([&] { compile(schedule, {.emitter = Emitter::cuda}); }),
              HasSubstr("CUDA's compilers do not know a target that no hardware has"));
  Operands operands(product, 32, 32, 32);
  for (const char* other : {"sm_75", "sm_80", "sm_90a"})
    EXPECT_THAT(message_of([&] { compile(schedule).bind(Device::simulator(other), operands.arguments); }),
                HasSubstr("no hardware has sm_70_swmma"))
        << other;
  EXPECT_THAT(message_of([&] { hb_ell_swmma(product, weights, target_named("sm_90a")); }),
              HasSubstr("sm_70_swmma, which the simulator has alone"));
  EXPECT_THAT(message_of([&] { compile(schedule).export_to(::testing::TempDir() + "/swmma", {}); }),
              HasSubstr("kernels for that target are not exported"));
}

TEST(HbEllSwmma, TheRecipeOfRealTensorCoresLeadsHere) {
  const Algorithm product = spmm_algorithm(32, 32, Extent(32), DType::f16);
  const auto weights = packed(random_matrix(32, 32, 0.3, 3), "hb_ell:step=4");
  EXPECT_EQ(hb_ell(product, weights, target_named(simulated)).cpp(),
            hb_ell_swmma(product, weights, target_named(simulated)).cpp());
  EXPECT_THAT(message_of([&] { hb_ell(product, weights, target_named(simulated), {.stages = 2}); }),
              HasSubstr("stages = 2 with sm_70_swmma"));
}

TEST(HbEllSwmma, TheStepSaysWhatItNeeds) {
  const Algorithm product = spmm_algorithm(32, 32, Extent(32), DType::f16);
  const WeightMatrix matrix = random_matrix(32, 32, 0.3, 3);
  const auto tensorized = [&](const char* format, const char* target) {
    return message_of([&] {
      WEFT_INDEX(n);
      Schedule s = schedule(product, packed(matrix, format), target_named(target));
      s.split(n = 16).reorder(n.outer, LoopName("m.block"), LoopName("k.block"), LoopName("m.row"), n.inner,
                              LoopName("k.place"));
      s.tensorize("swmma_m16n16k16");
    });
  };
  EXPECT_EQ(tensorized("hb_ell:step=4", simulated), "accepted");
  EXPECT_THAT(tensorized("hb_ell:step=4", "sm_90a"), HasSubstr("sm_90a has no swmma_m16n16k16"));
  EXPECT_THAT(tensorized("hb_ell", simulated), HasSubstr("weights in hb_ell:step=4, blocks of 16 x 16"));
  EXPECT_THAT(tensorized("hb_ell:step=4,every=1", simulated), HasSubstr("without every"));
  EXPECT_THAT(tensorized("hb_ell:b=8,step=4", simulated), HasSubstr("weights in hb_ell:step=4"));
}

}  // namespace
}  // namespace weft
