// stream_results: the output's stores stream, and no others.
#include <gtest/gtest.h>
#include <weft/backends/kernel.h>
#include <weft/formats/random.h>
#include <weft/search/measure/verify.h>

#include "support/examples.h"

namespace weft {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t place = 0; (place = text.find(part, place)) != std::string::npos; ++place) ++found;
  return found;
}

struct Stores {
  std::size_t streaming = 0, plain = 0, others = 0;
};

Stores stores_of(const std::string& ptx) {
  const std::size_t streaming = count(ptx, "st.global.cs.");
  return {streaming, count(ptx, "st.global.") - streaming, count(ptx, "st.volatile")};
}

void expect_right(const Kernel& kernel) {
  Array b = random_array(DType::f32, {20, 100}, 5, RandomValues::small_integers), c(DType::f32, {12, 100});
  const Arguments arguments{{{"B", &b}, {"C", &c}}, {}};
  const Verification verified = verify(kernel, Device::simulator(kernel.target().name), arguments);
  EXPECT_TRUE(verified.passed) << verified.text();
}

TEST(StreamResults, SumsInAWorkspaceStay) {
  Schedule s = test::spmm_schedule("sm_80", formats::csc());
  s.split(LoopFactor{LoopName("n"), 32}).bind("n.outer", block_x).bind("n.inner", thread);
  const Stores before = stores_of(compile(s, {.assemble = false}).ptx());
  EXPECT_EQ(before.streaming, 0U);
  s.stream_results("C");
  const Kernel kernel = compile(s, {.assemble = false});
  const Stores stores = stores_of(kernel.ptx());
  EXPECT_GE(stores.streaming, 1U) << kernel.ptx();
  EXPECT_GE(stores.plain, 2U) << kernel.ptx();
  EXPECT_EQ(stores.others, 0U);
  expect_right(kernel);
  const std::string source = kernel.cuda_source();
  EXPECT_EQ(count(source, "__stcs(&C"), count(source, "__stcs(")) << source;
  EXPECT_GE(count(source, "__stcs(&C"), 1U) << source;
}

TEST(StreamResults, VectorsThatGoToAWorkspaceStay) {
  Schedule s = test::spmm_schedule("sm_80", formats::csc());
  s.split(LoopFactor{LoopName("n"), 64}, LoopFactor{LoopName("n.inner"), 4});
  s.bind("n.outer", block_x).bind("n.inner.outer", thread);
  s.reorder("m", "n.inner.inner").reorder("k", "m.stored", "n.inner.inner").vectorize("n.inner.inner");
  s.stream_results("C");
  const Kernel kernel = compile(s, {.assemble = false});
  EXPECT_GE(stores_of(kernel.ptx()).plain, 2U) << kernel.ptx();
  EXPECT_EQ(stores_of(kernel.ptx()).others, 0U);
  expect_right(kernel);
}

TEST(StreamResults, PartsOfSumsThatBlocksHandOverStay) {
  Schedule s = test::spmm_schedule("sm_80");
  s.split(LoopFactor{LoopName("n"), 32}).bind("m", block_x).bind("n.outer", block_y).bind("n.inner", thread);
  s.split_k("k", groups = 4, reduce = second_pass).bind("k.group", block_z).stream_results("C");
  const Kernel kernel = compile(s, {.assemble = false});
  const Stores stores = stores_of(kernel.ptx());
  EXPECT_GE(stores.streaming, 1U) << kernel.ptx();
  EXPECT_GE(stores.plain, 1U) << kernel.ptx();
  EXPECT_EQ(stores.others, 0U);
  expect_right(kernel);
}

TEST(StreamResults, AreAllStoresOfAKernelThatStoresNothingElse) {
  Schedule s = test::spmm_schedule("sm_80");
  s.split(LoopFactor{LoopName("n"), 32}).bind("m", block_x).bind("n.outer", block_y).bind("n.inner", thread);
  const std::string before = compile(s, {.assemble = false}).ptx();
  s.stream_results("C");
  std::string after = compile(s, {.assemble = false}).ptx();
  EXPECT_EQ(stores_of(after).plain, 0U);
  for (std::size_t place; (place = after.find("st.global.cs.")) != std::string::npos;)
    after.replace(place, 13, "st.global.");
  EXPECT_EQ(after, before);
}

}  // namespace
}  // namespace weft
