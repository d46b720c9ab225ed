#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/runtime/device.h>
#include <weft/backends/runtime/driver.h>
#include <weft/backends/runtime/libraries/libraries.h>
#include <weft/backends/runtime/memory.h>
#include <weft/backends/runtime/module.h>
#include <weft/dsl/errors.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

namespace weft {
namespace {

using ::testing::HasSubstr;

TEST(Device, TheProcessorDescribesItself) {
  const DeviceDescription& cpu = Device::cpu().description();
  EXPECT_EQ(cpu.kind, DeviceKind::cpu);
  EXPECT_EQ(cpu.name, "cpu");
  EXPECT_FALSE(cpu.model.empty());
  EXPECT_GE(cpu.logical_cores, 1);
  EXPECT_GT(cpu.memory_bytes, std::size_t{1} << 28U);
#if defined(__AVX2__)
  EXPECT_THAT(cpu.instruction_sets, ::testing::Contains("avx2"));
#endif
}

TEST(Device, ListsTheProcessorFirstAndEveryCudaDevice) {
  const auto devices = Device::devices();
  ASSERT_EQ(devices.size(), 1U + static_cast<std::size_t>(driver::status().device_count));
  EXPECT_EQ(devices[0].kind, DeviceKind::cpu);
  for (std::size_t i = 1; i < devices.size(); ++i)
    EXPECT_EQ(devices[i].name, "cuda:" + std::to_string(i - 1));
}

TEST(Device, NoCudaIsAStatusAndAnErrorOnlyWhenAskedFor) {
  const driver::Status& status = driver::status();
  if (status.ready()) {
    EXPECT_NO_THROW(Device::cuda());
    EXPECT_THROW(Device::cuda(status.device_count), UserError);
    return;
  }
  EXPECT_THAT(status.sentence, HasSubstr("no CUDA device"));
  EXPECT_EQ(status.device_count, 0);
  try {
    Device::cuda();
    FAIL();
  } catch (const RuntimeError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no CUDA device\n  where:    device_test.cpp:"));
    EXPECT_THAT(error.what(), HasSubstr(status.sentence.substr(status.sentence.find(": ") + 2)));
    EXPECT_THAT(error.what(), HasSubstr("Device::simulator(\"sm_90a\")"));
  }
  EXPECT_THROW(driver::entry_points(), RuntimeError);
}

TEST(DeviceMemory, KeepsWhatWasCopied) {
  const std::vector<int> values{1, -2, 3, 4};
  DeviceMemory memory(Device::cpu(), values);
  EXPECT_EQ(memory.bytes(), 16U);
  EXPECT_EQ(memory.address() % 64, 0U);
  EXPECT_EQ(memory.to_vector<int>(), values);
  const int changed = 9;
  memory.upload(&changed, sizeof changed, 8);
  EXPECT_EQ(memory.to_vector<int>(), (std::vector<int>{1, -2, 9, 4}));
  int last = 0;
  memory.download(&last, sizeof last, 12);
  EXPECT_EQ(last, 4);
}

TEST(DeviceMemory, PoisonIsNaN) {
  DeviceMemory memory(Device::cpu(), 256);
  memory.fill(0);
  EXPECT_EQ(memory.to_vector<float>(), std::vector<float>(64, 0.0F));
  memory.poison();
  for (const float value : memory.to_vector<float>()) EXPECT_TRUE(std::isnan(value));
}

TEST(DeviceMemory, RangesAreChecked) {
  DeviceMemory memory(Device::cpu(), 16);
  char bytes[32] = {};
  EXPECT_THROW(memory.upload(bytes, 17), UserError);
  EXPECT_THROW(memory.upload(bytes, 1, 16), UserError);
  EXPECT_THROW(memory.download(bytes, 8, 9), UserError);
  EXPECT_THROW(memory.download(bytes, std::numeric_limits<std::size_t>::max(), 1), UserError);
  EXPECT_NO_THROW(memory.upload(bytes, 0, 16));
}

TEST(DeviceMemory, MovesAndEmptiness) {
  DeviceMemory a(Device::cpu(), std::vector<char>{'x'});
  const auto address = a.address();
  DeviceMemory b = std::move(a);
  EXPECT_EQ(b.address(), address);
  const DeviceMemory& left_behind = b;
  a = std::move(b);
  EXPECT_EQ(a.to_vector<char>(), std::vector<char>{'x'});
  EXPECT_EQ(left_behind.bytes(), 0U);

  DeviceMemory none(Device::cpu(), 0);
  EXPECT_EQ(none.address(), 0U);
  none.poison();
  EXPECT_TRUE(none.to_vector<int>().empty());
  EXPECT_TRUE(DeviceMemory().to_vector<int>().empty());
}

TEST(DeviceMemory, MoreThanTheMachineHasIsARuntimeError) {
  try {
    DeviceMemory memory(Device::cpu(), Device::cpu().description().memory_bytes + 1);
    FAIL();
  } catch (const RuntimeError& error) {
    EXPECT_THAT(error.what(), HasSubstr("on cpu"));
  }
}

TEST(Module, TheProcessorLoadsNone) {
  try {
    Module::load(Device::cpu(), ".version 8.0");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("the device cpu"));
  }
}

TEST(Dense, IsAbsentOnTheProcessorWithAReason) {
  std::string reason;
  EXPECT_FALSE(Dense::open(Device::cpu(), &reason).has_value());
  EXPECT_THAT(reason, HasSubstr("needs a CUDA device"));
}

TEST(Runtime, IncludesNothingHeavy) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(WEFT_TESTS_DIR "/../backends/runtime")) {
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      if (!line.starts_with("#include")) continue;
      for (const char* heavy : {"llvm", "z3", "boost", "cuda.h", "cublas", "fmt", "scheduler", "formats"}) {
        EXPECT_EQ(line.find(heavy), std::string::npos) << entry.path() << ": " << line;
      }
    }
    ++files;
  }
  EXPECT_GT(files, 10);
}

DeviceDescription small_device() {
  DeviceDescription device;
  device.name = "cuda:0";
  device.block_limit = {1024, 1024, 64};
  device.grid_limit = {2147483647, 65535, 65535};
  device.shared_bytes_opt_in = 232448;
  return device;
}

FunctionAttributes small_kernel() {
  FunctionAttributes attributes;
  attributes.registers = 168;
  attributes.max_threads = 384;
  attributes.static_shared_bytes = 1024;
  return attributes;
}

std::string refusal(const LaunchShape& shape) {
  try {
    check_launch(small_device(), "spmm", small_kernel(), shape);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(LaunchCheck, AcceptsWhatFits) {
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({{2147483647, 65535, 1}, {128, 3, 1}, 232448 - 1024}), "");
}

TEST(LaunchCheck, RefusesWithTheNumbers) {
  EXPECT_THAT(refusal({{0, 1, 1}, {32, 1, 1}, 0}), HasSubstr("a grid of 0 x 1 x 1"));
  EXPECT_THAT(refusal({{1, 65536, 1}, {32, 1, 1}, 0}), HasSubstr("at most 2147483647 x 65535 x 65535"));
  EXPECT_THAT(refusal({{1, 1, 1}, {1, 1, 65}, 0}), HasSubstr("a block of 1 x 1 x 65"));
  EXPECT_THAT(
      refusal({{1, 1, 1}, {128, 4, 1}, 0}),
      HasSubstr(
          "128 x 4 x 1 = 512 threads\n  accepted: at most 384 threads for this kernel, which uses 168"));
  EXPECT_THAT(refusal({{1, 1, 1}, {32, 1, 1}, 232448 - 1023}),
              HasSubstr("231425 bytes of dynamic and 1024 bytes of static"));
  EXPECT_THAT(refusal({{1, 1, 1}, {32, 1, 1}, std::numeric_limits<std::size_t>::max()}),
              HasSubstr("at most 232448 bytes a block"));
}

}  // namespace
}  // namespace weft
