// GPUs for which LLVM writes the PTX of an older one: kernels are what that one's are, ptxas makes machine
// code of the GPU's own, and in the simulator they are right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/cuda/assemble.h>
#include <weft/backends/cuda/compile.h>
#include <weft/backends/cuda/toolkit.h>
#include <weft/backends/kernel.h>
#include <weft/formats/random.h>
#include <weft/scheduler/recipes/grouped/v_n_m.h>
#include <weft/scheduler/recipes/rows/default_schedule.h>
#include <weft/search/spaces/problems.h>

#include "formats/generated_matrices.h"
#include "support/expect_exact.h"

namespace weft {
namespace {

using testing::HasSubstr;

Schedule rows(const Target& target) {
  const WeightMatrix weights = test::layer_of_integers(40, 70, 0.8, DType::f32);
  return default_schedule(spmm_algorithm(40, 70, 33, DType::f32), packed(weights, formats::csr()), target);
}

Schedule pairs(const Target& target, DType dtype, ProductLayout layout, const ShflBwKnobs& knobs = {}) {
  const Format format = dtype == DType::f16 ? formats::v_n_m({.rows = 64}) : formats::n_m();
  WeightMatrix weights = fitted(random_matrix(70, 200, 0.9, 3, dtype), format);
  weights.values = random_array(dtype, {weights.stored()}, 5, RandomValues::small_integers);
  return v_n_m(spmm_algorithm(70, 200, Extent(72), dtype, {}, layout), packed(weights, format), target,
               knobs);
}

class NewerGpus : public testing::TestWithParam<const char*> {
 protected:
  const Target& target_ = target_named(GetParam());
};

TEST_P(NewerGpus, RowsOnEveryUnit) {
  test::expect_exact(rows(target_));
}

TEST_P(NewerGpus, PairsOnSparseTensorCoresOfWarps) {
  const Schedule schedule = pairs(target_, DType::f16, ProductLayout::kn);
  EXPECT_THAT(schedule.cpp(), HasSubstr("mma_sp_m16n8k32"));
  test::expect_exact(schedule);
  const Schedule of_bytes = pairs(target_, DType::e4m3, ProductLayout::nk);
  EXPECT_THAT(of_bytes.cpp(), HasSubstr("mma_sp_m16n8k64"));
  test::expect_exact(of_bytes);
}

TEST_P(NewerGpus, WarpsThatCopyInBulk) {
  const Schedule schedule = pairs(target_, DType::f16, ProductLayout::kn, {.tile_n = 64, .producers = 4});
  EXPECT_THAT(schedule.cpp(), HasSubstr("specialize_warps"));
  test::expect_exact(schedule);
}

TEST_P(NewerGpus, PtxIsThatOfAnOlderOne) {
  KernelOptions options;
  options.assemble = false;
  const std::string ptx = compile(rows(target_), options).ptx();
  EXPECT_THAT(ptx, HasSubstr(".version 8.0\n.target sm_90\n"));
  EXPECT_EQ(ptx, compile(rows(target_named("sm_90")), options).ptx());
}

TEST_P(NewerGpus, MachineCodeIsItsOwn) {
  if (!cuda::can_assemble()) GTEST_SKIP() << "[SKIP] " << cuda::toolkit().ptxas.reason;
  for (const Schedule& schedule : {rows(target_), pairs(target_, DType::f16, ProductLayout::kn),
                                   pairs(target_, DType::e4m3, ProductLayout::nk)}) {
    const Kernel kernel = compile(schedule);
    EXPECT_TRUE(kernel.cubin().starts_with("\177ELF"));
    EXPECT_THAT(kernel.resources()->notes, testing::IsEmpty());
  }
  cuda::AssembleOptions of_the_older;
  of_the_older.architecture = "sm_90";
  const Kernel kernel = compile(rows(target_));
  EXPECT_NE(kernel.cubin(), cuda::assemble(kernel.ptx(), of_the_older).cubin);
}

TEST_P(NewerGpus, AsCudaSource) {
  if (!cuda::compiler_status().found()) GTEST_SKIP() << "[SKIP] " << cuda::compiler_status().sentence;
  test::expect_exact(pairs(target_, DType::f16, ProductLayout::kn), Emitter::cuda);
}

INSTANTIATE_TEST_SUITE_P(Each, NewerGpus, testing::Values("sm_100", "sm_120"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace weft
