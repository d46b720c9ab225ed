// Contexts, memory, modules, launches, graphs and waits against the driver of fake_driver.cpp, which stands
// first on the loader's path when this runs. The real driver's side of it is in runtime_gpu_test.cpp.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/runtime/device.h>
#include <weft/backends/runtime/driver.h>
#include <weft/backends/runtime/libraries/cudnn.h>
#include <weft/backends/runtime/libraries/cusparse.h>
#include <weft/backends/runtime/libraries/libraries.h>
#include <weft/backends/runtime/memory.h>
#include <weft/backends/runtime/module.h>
#include <weft/backends/runtime/recorded_launch.h>
#include <weft/backends/runtime/timing.h>
#include <weft/dsl/errors.h>

#include <chrono>
#include <cmath>

#include "fake_driver.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

FakeDriverState& fake() {
  static FakeDriverState* const state = [] {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    auto* ask = reinterpret_cast<FakeDriverState* (*)()>(dlsym(library, "weft_fake_state"));
    return ask != nullptr ? ask() : nullptr;
  }();
  return *state;
}

const std::string ptx = ".version 8.0\n.target sm_90\n";

template <class Error, class F>
std::string error_of(F&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

class FakeDevice : public ::testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(fake().context_depth, 0);
    fake().stuck = false;
    fake().kernel_error = fake().launch_error = 0;
  }
};

TEST_F(FakeDevice, IsDescribed) {
  const Device device = Device::cuda();
  EXPECT_EQ(device.name(), "cuda:0");
  EXPECT_EQ(device.description().model, "Fake GPU");
  EXPECT_EQ(device.description().sm, 90);
  EXPECT_EQ(device.description().block_limit, (std::array<int, 3>{1024, 1024, 64}));
  EXPECT_EQ(device, Device::cuda(0));
  EXPECT_THAT(error_of<UserError>([] { Device::cuda(1); }), HasSubstr("cuda:0, the only one here"));
}

TEST_F(FakeDevice, HoldsItsPrimaryContextOnce) {
  const int before = fake().contexts_retained;
  {
    const Device one = Device::cuda();
    const Device two = Device::cuda();
    const DeviceMemory memory(one, 16);
    EXPECT_EQ(fake().contexts_retained, before + 1);
  }
  EXPECT_EQ(fake().contexts_released, fake().contexts_retained);
}

TEST_F(FakeDevice, MemoryOutlivesTheDeviceValue) {
  DeviceMemory memory(Device::cuda(), std::vector<int>{5, 6});
  EXPECT_EQ(memory.to_vector<int>(), (std::vector<int>{5, 6}));
  memory.poison();
  EXPECT_EQ(memory.to_vector<int>(), (std::vector<int>{-1, -1}));
  memory = DeviceMemory();
  EXPECT_EQ(fake().frees, fake().allocations);
}

TEST_F(FakeDevice, TooMuchMemorySaysWhatIsFree) {
  const std::string text =
      error_of<RuntimeError>([] { DeviceMemory(Device::cuda(), std::size_t{2} << 30U); });
  EXPECT_THAT(text, HasSubstr("allocating 2147483648 bytes on cuda:0: out of memory"));
  EXPECT_THAT(text, HasSubstr("of 1073741824 bytes are free"));
}

TEST_F(FakeDevice, ModulesAreLoadedAndUnloaded) {
  {
    Function function = Module::load(Device::cuda(), ptx).function("kernel");
    EXPECT_EQ(function.attributes().registers, 9);
    EXPECT_EQ(function.attributes().static_shared_bytes, 2048U);
    EXPECT_EQ(function.attributes().cluster_blocks, 16);
    EXPECT_EQ(fake().big_clusters_allowed, 1);
    EXPECT_EQ(fake().modules_unloaded, fake().modules_loaded - 1);
  }
  EXPECT_EQ(fake().modules_unloaded, fake().modules_loaded);
}

TEST_F(FakeDevice, ModuleErrorsCarryTheLog) {
  const Device device = Device::cuda();
  EXPECT_THAT(error_of<RuntimeError>([&] { Module::load(device, ptx + "refuse me"); }),
              HasSubstr("CUDA_ERROR_FAKE (fake error 218)\nline 3: unknown word"));
  const Module module = Module::load(device, ptx);
  EXPECT_EQ(module.log(), "used 9 registers");
  EXPECT_THAT(error_of<UserError>([&] { module.function("other"); }), HasSubstr("no 'other'"));
  EXPECT_THAT(error_of<UserError>([&] { module.variable("other"); }), HasSubstr("no 'other'"));
  EXPECT_EQ(module.variable("table").bytes, 64U);
}

TEST_F(FakeDevice, ImagesThatAreNoneNeverReachTheDriver) {
  const Device device = Device::cuda();
  const int before = fake().modules_loaded;
  std::string cut_elf(64, '\0');
  cut_elf.replace(0, 4, "\177ELF");
  cut_elf[0x28] = 65;
  std::string long_table = cut_elf;
  long_table[0x28] = 1;
  long_table[0x3A] = 64;
  long_table[0x3C] = 1;
  const std::string cut_fat_binary =
      std::string("\x50\xED\x55\xBA\x01\x00\x10\x00\x09", 9) + std::string(7, '\0');
  for (const std::string& image : {std::string(), std::string("\177ELF"), cut_elf, long_table, cut_fat_binary,
                                   std::string("int main() {}"), ".version 8.0" + std::string(1, '\0')}) {
    EXPECT_THROW(Module::load(device, image), UserError);
  }
  EXPECT_EQ(fake().modules_loaded, before);
}

TEST_F(FakeDevice, LaunchesWithArgumentsAndRaisesTheSharedMemoryLimit) {
  const Device device = Device::cuda();
  const Function function = Module::load(device, ptx).function("kernel");
  int number = 42;
  void* arguments[] = {&number};
  fake().shared_limit = 0;
  function.launch({{2, 1, 1}, {128, 1, 1}, 40000}, arguments, nullptr);
  EXPECT_EQ(fake().first_argument, 42);
  EXPECT_EQ(fake().shared_limit, 0);
  function.launch({{2, 1, 1}, {128, 1, 1}, 100000}, arguments, nullptr);
  EXPECT_EQ(fake().shared_limit, 100000);
  EXPECT_THROW(function.launch({{2, 1, 1}, {128, 1, 1}, 232448}, arguments, nullptr), UserError);
  EXPECT_THROW(function.launch({{2, 1, 1}, {513, 1, 1}, 0}, arguments, nullptr), UserError);
  EXPECT_EQ(function.blocks_per_multiprocessor({{1, 1, 1}, {256, 1, 1}, 0}), 8);
  fake().launch_error = 701;
  EXPECT_THAT(error_of<RuntimeError>([&] { function.launch({}, arguments, nullptr); }),
              HasSubstr("launching 'kernel' on cuda:0: CUDA_ERROR_FAKE (fake error 701)"));
}

TEST_F(FakeDevice, LaunchesOverlapWhereTheyAskForIt) {
  const Device device = Device::cuda();
  const Function function = Module::load(device, ptx).function("kernel");
  int number = 43;
  void* arguments[] = {&number};
  LaunchShape shape{{2, 1, 1}, {64, 1, 1}, 0};
  function.launch(shape, arguments, nullptr);
  EXPECT_EQ(fake().overlapping_launches, 0);
  shape.overlaps = true;
  function.launch(shape, arguments, nullptr);
  EXPECT_EQ(fake().overlapping_launches, 1);
  EXPECT_EQ(fake().first_argument, 43);
}

class FakeTiming : public FakeDevice {
 protected:
  Device device = Device::cuda();
  Function function = Module::load(device, ptx).function("kernel");
  std::function<void(StreamHandle)> launch = [this](StreamHandle stream) { function.launch({}, {}, stream); };
};

TEST_F(FakeTiming, ByGraph) {
  const Timing timing = time(device, launch);
  EXPECT_NEAR(timing.median, 10, 1e-3);
  EXPECT_NEAR(timing.repeats, 50, 1);
  EXPECT_EQ(timing.count, 15);
  EXPECT_EQ(timing.method, "graph");
  EXPECT_EQ(fake().stream_flags, 1U) << "the stream must not wait for the default stream";
}

TEST_F(FakeTiming, TheFlushIsSubtracted) {
  TimingOptions options;
  options.flush_l2 = true;
  for (const bool use_graph : {true, false}) {
    options.use_graph = use_graph;
    const Timing timing = time(device, launch, options);
    EXPECT_NEAR(timing.median, 10, 1e-3);
    EXPECT_EQ(fake().flushed_bytes, std::size_t{2} << 20U);
    EXPECT_EQ(timing.method, use_graph ? "graph+flush" : "events+flush");
  }
}

TEST_F(FakeTiming, InTurnsEachContestantHasItsOwnGraph) {
  const FakeDriverState before = fake();
  const auto twice = [this](StreamHandle stream) {
    launch(stream);
    launch(stream);
  };
  const std::vector<Timing> timings = time_in_turns(device, {launch, twice});
  ASSERT_EQ(timings.size(), 2U);
  EXPECT_NEAR(timings[0].median, 10, 1e-3);
  EXPECT_NEAR(timings[1].median, 20, 1e-3);
  EXPECT_EQ(timings[1].count, 15);
  EXPECT_EQ(fake().graphs, before.graphs);
  EXPECT_EQ(fake().streams, before.streams);
}

TEST_F(FakeTiming, OneLaunchAsItIsTimedIsRecordedFirst) {
  const FakeDriverState before = fake();
  std::string order;
  const auto record = [&](StreamHandle stream) {
    order += stream != nullptr ? "recorded " : "nowhere ";
    launch(stream);
  };
  launch_as_timed(device, record, [&] {
    order += "before ";
    EXPECT_EQ(fake().graph_launches, before.graph_launches);
  });
  EXPECT_EQ(order, "recorded before ");
  EXPECT_EQ(fake().graph_launches, before.graph_launches + 1);
  EXPECT_EQ(fake().graphs, before.graphs);
  EXPECT_NEAR(fake().microseconds - before.microseconds, 10, 1e-3) << "recording takes no time of the device";
}

TEST_F(FakeDevice, LibrariesSayWhatIsMissing) {
  std::string reason;
  EXPECT_FALSE(Cusparse::open(Device::cpu(), &reason));
  EXPECT_EQ(reason, "cuSPARSE needs a CUDA device, not cpu");
  EXPECT_FALSE(Cudnn::open(Device::cpu(), &reason));
  EXPECT_EQ(reason, "cuDNN needs a CUDA device, not cpu");
  EXPECT_THAT(Cusparse::algorithms(), ::testing::ElementsAre("default", "csr 1", "csr 2", "csr 3"));
  EXPECT_EQ(Cudnn::algorithms().size(), 8U);
}

TEST_F(FakeTiming, LeavesNothingBehind) {
  const FakeDriverState before = fake();
  EXPECT_NO_THROW(time(device, launch));
  EXPECT_THROW(time(device, [](StreamHandle) { throw RuntimeError("broken"); }), RuntimeError);
  int calls = 0;
  const auto breaks_while_recording = [&](StreamHandle stream) {
    launch(stream);
    if (++calls == 6) throw RuntimeError("broken");
  };
  EXPECT_THROW(time(device, breaks_while_recording), RuntimeError);
  EXPECT_EQ(fake().graphs, before.graphs);
  EXPECT_EQ(fake().events, before.events);
  EXPECT_EQ(fake().streams, before.streams);
}

TEST_F(FakeTiming, AStuckKernelEndsInAnErrorAndNothingIsFreedUnderIt) {
  TimingOptions options;
  options.limit_seconds = 0.05;
  fake().stuck = true;
  const int frees = fake().frees;
  const auto start = std::chrono::steady_clock::now();
  {
    const std::string text = error_of<RuntimeError>([&] { time(device, launch, options); });
    EXPECT_THAT(text, HasSubstr("kernel did not finish within 0.05 s on cuda:0"));
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  EXPECT_LT(spent.count(), 1);
  Stream stream(device);
  EXPECT_THROW(stream.wait(0.01), RuntimeError);
  EXPECT_EQ(fake().frees, frees);

  fake().stuck = false;
  DeviceMemory memory(device, std::vector<int>{1});
  EXPECT_EQ(memory.to_vector<int>(), std::vector<int>{1});
}

TEST_F(FakeTiming, AFailedKernelShowsInTheWait) {
  fake().kernel_error = 700;
  EXPECT_THAT(error_of<RuntimeError>([&] { time(device, launch); }), HasSubstr("fake error 700"));
}

}  // namespace
}  // namespace weft

int main(int argument_count, char** arguments) {
  ::testing::InitGoogleTest(&argument_count, arguments);
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr || dlsym(library, "weft_fake_state") == nullptr) {
    std::puts("this test wants the folder of the fake driver in LD_LIBRARY_PATH; ctest sets it");
    return 1;
  }
  return RUN_ALL_TESTS();
}
