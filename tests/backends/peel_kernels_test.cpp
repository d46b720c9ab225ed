// Kernels of peeled loops against the f64 reference, on the CPU and in the simulator, for sizes with and
// without a rest.
#include <gtest/gtest.h>
#include <weft/backends/kernel.h>
#include <weft/dsl/index.h>
#include <weft/formats/random.h>
#include <weft/scheduler/ir/print.h>
#include <weft/search/measure/verify.h>

#include "support/examples.h"

namespace weft {
namespace {

WEFT_INDEX(m);
WEFT_INDEX(n);
WEFT_INDEX(k);

void expect_right(const Schedule& schedule, std::int64_t columns) {
  SCOPED_TRACE(schedule.cpp() + "\n" + ir::print(schedule.program()));
  Array b = random_array(DType::f32, {20, columns}, 5), c(DType::f32, {12, columns});
  const Arguments arguments{{{"B", &b}, {"C", &c}}, {}};
  const Kernel kernel = compile(schedule, {.assemble = false});
  const bool gpu = schedule.target().is_gpu();
  const Device device = gpu ? Device::simulator(schedule.target().name) : Device::cpu();
  const Verification verified = verify(kernel, device, arguments);
  EXPECT_TRUE(verified.passed) << columns << " columns: " << verified.text();
}

TEST(PeeledKernels, VectorsOfAnyNumberOfColumns) {
  for (const Format& format : {formats::csr(), formats::dense()}) {
    Schedule s = test::spmm_schedule("cpu", format, Extent::any("N"));
    s.split(n = 16).peel(n.outer, from_end = 1).reorder(m, k, "n.inner").vectorize("n.inner");
    for (const std::int64_t columns : {1, 15, 16, 17, 32, 100}) expect_right(s, columns);
  }
}

TEST(PeeledKernels, WarpsOfAnyNumberOfColumns) {
  Schedule s = test::spmm_schedule("sm_80", formats::csr(), Extent::any("N"));
  s.split(n = 32).bind(m, block_x).peel(n.outer, from_end = 1).bind("n.inner", lane);
  for (const std::int64_t columns : {1, 31, 32, 33, 64, 100}) expect_right(s, columns);
}

TEST(PeeledKernels, FirstAndLastPlacesOfASum) {
  for (const char* target : {"cpu", "sm_80"}) {
    for (const Format& format : {formats::csr(), formats::ell(), formats::dense()}) {
      Schedule s = test::spmm_schedule(target, format);
      s.peel(k, from_begin = 2, from_end = 1).peel(n, from_begin = 1);
      if (s.target().is_gpu()) s.bind(m, block_x);
      expect_right(s, 100);
    }
  }
}

TEST(PeeledKernels, BlocksOfTwoParts) {
  Schedule s = test::spmm_schedule("sm_80");
  s.split(n = 50).peel(n.outer, from_end = 1).bind(n.outer, block_x).bind(m, block_y);
  expect_right(s, 100);
}

// The buffer that a copy ahead fills is counted from where the part begins.
TEST(PeeledKernels, CopiesAheadInAPartThatBeginsLate) {
  Schedule s = test::spmm_schedule("sm_80", formats::dense());
  s.bind(m, block_x).peel(k, from_begin = 3).stage("B", shared, at = k, depth = 4);
  expect_right(s, 100);
}

// Both parts copy to an array of that name, and an unrolled loop around them takes its arrays out.
TEST(PeeledKernels, PartsOfALoopInAnUnrolledOneHaveTheirArrays) {
  for (const char* target : {"cpu", "sm_80"}) {
    Schedule s = test::spmm_schedule(target);
    s.split(m = 16).unroll(m.inner);
    s.peel(n, from_begin = 1, from_end = 2).stage("B", shared, at = n);
    expect_right(s, 100);
  }
}

}  // namespace
}  // namespace weft
