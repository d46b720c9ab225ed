// Launches that overlap: kernels of many kinds are right in the simulator, and PTX and CUDA source wait where
// the program does; no load of what is awaited is one that compilers may move in front of the wait.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/scheduler/program/overlapped.h>
#include <weft/scheduler/recipes/grouped/shfl_bw.h>
#include <weft/scheduler/recipes/grouped/v_n_m.h>
#include <weft/scheduler/recipes/unstructured/lane_streams.h>
#include <weft/scheduler/recipes/unstructured/sparsert.h>
#include <weft/search/spaces/problems.h>

#include "formats/generated_matrices.h"
#include "support/expect_exact.h"

namespace weft {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

std::shared_ptr<const SparseTensor> packed(const WeightMatrix& matrix, const char* format) {
  const Format parsed = parse_format(format);
  return std::make_shared<const SparseTensor>(pack(fitted(matrix, parsed), parsed));
}

WeightMatrix halves(std::int64_t rows, std::int64_t columns, double sparsity) {
  return test::layer_of_integers(rows, columns, sparsity, DType::f16);
}

std::string ptx_of(const Schedule& schedule) {
  return compile(schedule, {.assemble = false}).ptx();
}

Schedule rows_of_threads() {
  Schedule s =
      schedule(spmm_algorithm(30, 70, 50, DType::f32),
               pack(test::layer_of_integers(30, 70, 0.7, DType::f32), formats::csr()), target_named("sm_90"));
  s.split(n = 32).bind(m, block_x).bind(n.outer, block_y).bind(n.inner, thread);
  return s;
}

TEST(OverlapLaunches, PtxWaitsInFrontOfTheOperand) {
  const std::string ptx = ptx_of(overlapped(rows_of_threads()));
  const std::size_t allowed = ptx.find("griddepcontrol.launch_dependents"),
                    waited = ptx.find("griddepcontrol.wait");
  ASSERT_NE(waited, std::string::npos);
  EXPECT_LT(allowed, waited);
  // Loads that do not see what is written meanwhile are of the weights alone: the operand's is another.
  EXPECT_THAT(ptx.substr(0, waited), Not(ContainsRegex("ld\\.global\\.f32|st\\.global")));
  EXPECT_THAT(ptx.substr(waited), ContainsRegex("ld\\.global\\.(b32|f32)"));
  EXPECT_THAT(ptx_of(rows_of_threads()), Not(ContainsRegex("ld\\.global\\.(b32|f32)|griddep")));
}

TEST(OverlapLaunches, CudaSourceSaysThatTheOperandMayChange) {
  const std::string source = compile(overlapped(rows_of_threads()), {.assemble = false}).cuda_source();
  EXPECT_THAT(source, HasSubstr("asm volatile(\"griddepcontrol.wait;\" :  :  : \"memory\");"));
  EXPECT_THAT(source, HasSubstr("const float* B,"));
  EXPECT_THAT(source, HasSubstr("const float* __restrict__ A_values,"));
}

TEST(OverlapLaunches, SumsOfThreadsAndBlocks) {
  test::expect_exact(overlapped(rows_of_threads()));
  Schedule split = rows_of_threads();
  split.split_k(k, groups = 4, reduce = second_pass).bind("k.group", block_z);
  test::expect_exact(overlapped(std::move(split)));
  Schedule added = rows_of_threads();
  added.split_k(k, groups = 4, reduce = atomic).bind("k.group", block_z);
  test::expect_exact(overlapped(std::move(added)));
}

TEST(OverlapLaunches, WeightsInTheCode) {
  const auto weights = packed(test::layer_of_integers(40, 64, 0.8, DType::f32), "csr");
  test::expect_exact(
      overlapped(sparsert(spmm_algorithm(40, 64, 100, DType::f32), weights, target_named("sm_90"))));
}

TEST(OverlapLaunches, OperandsThatLaunchesTranspose) {
  const auto weights = packed(test::layer_of_integers(70, 96, 0.8, DType::f32), "csr");
  test::expect_exact(
      overlapped(sparsert(spmm_algorithm(70, 96, 33, DType::f32, {.bias = true}, ProductLayout::nk), weights,
                          target_named("sm_90"))));
}

TEST(OverlapLaunches, Streams) {
  for (const std::int64_t turns : {1, 3}) {
    const Schedule s = overlapped(lane_streams(spmm_algorithm(192, 600, 8, DType::f16, {}, ProductLayout::nk),
                                               packed(halves(192, 600, 0.6), "lane_streams"),
                                               target_named("sm_90"), {.turns = turns}));
    test::expect_exact(s);
  }
}

TEST(OverlapLaunches, ProducersAndRings) {
  const Algorithm product = spmm_algorithm(130, 256, 64, DType::f16);
  for (const char* target : {"sm_90", "sm_90a"}) {
    test::expect_exact(overlapped(
        shfl_bw(product, packed(halves(130, 256, 0.7), "vector_wise:V=64"), target_named(target))));
    test::expect_exact(
        overlapped(v_n_m(product, packed(halves(130, 256, 0.5), "n_m"), target_named(target))));
  }
}

}  // namespace
}  // namespace weft
