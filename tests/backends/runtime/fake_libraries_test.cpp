// The sparse products of the vendor against the libraries of fake_libraries/, which stand first on the
// loader's path when this runs, on the driver of fake_driver.cpp.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/runtime/libraries/cusparse.h>
#include <weft/backends/runtime/libraries/cusparselt.h>
#include <weft/backends/runtime/memory.h>
#include <weft/dsl/errors.h>

#include <cstdlib>

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// What a fake library says of the things that were not destroyed.
int alive(const char* library, const char* function) {
  void* handle = dlopen(library, RTLD_NOW);
  auto* ask = handle != nullptr ? reinterpret_cast<int (*)()>(dlsym(handle, function)) : nullptr;
  return ask != nullptr ? ask() : -1;
}
int alive_of_cusparse() {
  return alive("libcusparse.so.12", "weft_fake_cusparse_alive");
}
int alive_of_cusparselt() {
  return alive("libcusparseLt.so.0", "weft_fake_cusparselt_alive");
}

template <class F>
std::string user_error_of(F&& action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(FakeCusparse, MultipliesWeightsInBlocks) {
  const Device device = Device::cuda();
  {
    const auto cusparse = Cusparse::open(device);
    ASSERT_TRUE(cusparse.has_value());
    EXPECT_EQ(cusparse->version(), "cuSPARSE 12.6.3 (libcusparse.so.12)");
    // 4 x 6 in blocks of 2: one in the last column of blocks; two in the first and the second.
    const DeviceMemory block_column(device, std::vector<std::int32_t>{2, -1, 0, 1});
    const DeviceMemory values(device, std::vector<float>{1, 2, 0, 0,  //
                                                         3, 4, 0, 0,  //
                                                         5, 6, 1, 1,  //
                                                         7, 8, 0, 2});
    const DeviceMemory b(device, std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
    const DeviceMemory c(device, std::vector<float>(8, -1));
    BlockedEllProduct product{4, 2, 6, 2, 4, DenseType::f32};
    product.block_column = block_column.address();
    product.values = values.address();
    product.b = b.address();
    product.c = c.address();
    cusparse->prepare(product).launch(nullptr);
    EXPECT_THAT(c.to_vector<float>(),
                ElementsAre(9 + 22, 10 + 24, 27 + 44, 30 + 48,  //
                            5 + 18 + 5 + 7, 10 + 24 + 6 + 8, 7 + 24 + 14, 14 + 32 + 16));
    product.block = 3;
    EXPECT_THAT(user_error_of([&] { cusparse->prepare(product); }), HasSubstr("blocks of 3"));
    product.block = 2;
    product.type = DenseType::bf16;
    EXPECT_THROW(cusparse->prepare(product), RuntimeError) << "not in this fake";
  }
  EXPECT_EQ(alive_of_cusparse(), 0);
}

class FakeCusparselt : public ::testing::Test {
 protected:
  void TearDown() override {
    unsetenv("WEFT_FAKE_CUSPARSELT");
    EXPECT_EQ(alive_of_cusparselt(), 0);
  }
  std::vector<_Float16> halves(const std::vector<float>& values) { return {values.begin(), values.end()}; }
};

TEST_F(FakeCusparselt, MultipliesTwoOfFour) {
  const Device device = Device::cuda();
  const auto cusparselt = Cusparselt::open(device);
  ASSERT_TRUE(cusparselt.has_value());
  EXPECT_EQ(cusparselt->version(), "cuSPARSELt 0.10.2 (libcusparseLt.so.0)");
  EXPECT_THAT(Cusparselt::algorithms(), ElementsAre("chosen", "searched"));
  const DeviceMemory a(device, halves({1, 0, 2, 0, 0, 3, 0, 4}));
  const DeviceMemory b(device, halves({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  for (const std::string_view algorithm : Cusparselt::algorithms()) {
    const DeviceMemory c(device, halves(std::vector<float>(6, -1)));
    TwoOfFourProduct product{2, 3, 4};
    product.a = a.address();
    product.b = b.address();
    product.c = c.address();
    const PreparedCall prepared = cusparselt->prepare(product, algorithm);
    prepared.launch(nullptr);
    EXPECT_THAT(c.to_vector<_Float16>(), ElementsAre(15, 18, 21, 52, 59, 66)) << algorithm;
  }
}

TEST_F(FakeCusparselt, RefusesWhatItCannotHold) {
  const Device device = Device::cuda();
  const auto cusparselt = Cusparselt::open(device);
  const DeviceMemory a(device, halves({1, 0, 2, 5}));
  const DeviceMemory b(device, halves({1, 2, 3, 4}));
  const DeviceMemory c(device, halves({0}));
  TwoOfFourProduct product{1, 1, 4};
  product.a = a.address();
  product.b = b.address();
  product.c = c.address();
  EXPECT_THAT(user_error_of([&] { cusparselt->prepare(product, "chosen"); }),
              HasSubstr("more than two of four"));
  EXPECT_THAT(user_error_of([&] { cusparselt->prepare(product, "best"); }), HasSubstr("chosen or searched"));
  product.type = DenseType::f32;
  EXPECT_THAT(user_error_of([&] { cusparselt->prepare(product, "chosen"); }), HasSubstr("f16, bf16 or e4m3"));
  product.type = DenseType::f16;
  product.k = 3;
  EXPECT_THROW(cusparselt->prepare(product, "chosen"), RuntimeError);
}

TEST_F(FakeCusparselt, OlderOnesAreNotUsed) {
  setenv("WEFT_FAKE_CUSPARSELT", "602", 1);
  std::string reason;
  EXPECT_FALSE(Cusparselt::open(Device::cuda(), &reason));
  EXPECT_EQ(reason, "no cuSPARSELt: 0.6.2 is older than 0.8.0");
  EXPECT_FALSE(Cusparselt::open(Device::cpu(), &reason));
  EXPECT_EQ(reason, "cuSPARSELt needs a CUDA device, not cpu");
}

}  // namespace
}  // namespace weft
