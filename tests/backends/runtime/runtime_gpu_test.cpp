// The runtime on a real GPU: everything here takes a few seconds. Without one it says so and passes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <weft/backends/cuda/assemble.h>
#include <weft/backends/cuda/compile.h>
#include <weft/backends/runtime/device.h>
#include <weft/backends/runtime/driver.h>
#include <weft/backends/runtime/libraries/libraries.h>
#include <weft/backends/runtime/memory.h>
#include <weft/backends/runtime/module.h>
#include <weft/backends/runtime/timing.h>
#include <weft/dsl/dtype.h>
#include <weft/dsl/errors.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <random>

namespace weft {
namespace {

using ::testing::HasSubstr;

// add: c[i] = a[i] + b[i]. spin: runs for so many nanoseconds. shared: out[i] = i through dynamic shared
// memory. crash: writes to address 0.
const std::string kernels = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .global .align 4 .b8 table[64];
.extern .shared .align 16 .b8 dynamic[];

.visible .entry add(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u32 pn)
{
  .reg .pred %p;
  .reg .b32 %r<6>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [pa];
  ld.param.u64 %rd2, [pb];
  ld.param.u64 %rd3, [pc];
  ld.param.u32 %r1, [pn];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.u32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p, %r5, %r1;
  @%p ret;
  mul.wide.u32 %rd4, %r5, 4;
  add.u64 %rd5, %rd1, %rd4;
  add.u64 %rd6, %rd2, %rd4;
  add.u64 %rd7, %rd3, %rd4;
  ld.global.f32 %f1, [%rd5];
  ld.global.f32 %f2, [%rd6];
  add.f32 %f3, %f1, %f2;
  st.global.f32 [%rd7], %f3;
  ret;
}

.visible .entry spin(.param .u64 nanoseconds)
{
  .reg .pred %p;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [nanoseconds];
  mov.u64 %rd2, %globaltimer;
again:
  mov.u64 %rd3, %globaltimer;
  sub.u64 %rd4, %rd3, %rd2;
  setp.lt.u64 %p, %rd4, %rd1;
  @%p bra again;
  ret;
}

.visible .entry shared(.param .u64 out, .param .u32 words)
{
  .reg .pred %p;
  .reg .b32 %r<6>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [words];
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, dynamic;
loop:
  setp.ge.u32 %p, %r2, %r1;
  @%p bra done;
  shl.b32 %r4, %r2, 2;
  add.u32 %r4, %r3, %r4;
  st.shared.u32 [%r4], %r2;
  ld.shared.u32 %r5, [%r4];
  mul.wide.u32 %rd2, %r2, 4;
  add.u64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r5;
  add.u32 %r2, %r2, 256;
  bra loop;
done:
  ret;
}

.visible .entry crash()
{
  .reg .b64 %rd<2>;
  mov.u64 %rd1, 0;
  st.global.u64 [%rd1], %rd1;
  ret;
}
)";

std::vector<float> random_values(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> values(-1, 1);
  std::vector<float> all(count);
  for (float& value : all) value = values(generator);
  return all;
}

class Gpu : public ::testing::Test {
 protected:
  Device device = Device::cuda();
  Module module = Module::load(device, kernels);

  /// a + b for `count` elements of images loaded from `code`.
  void check_add(const Module& code) {
    const std::size_t count = 100003;
    const auto a = random_values(count, 1);
    const auto b = random_values(count, 2);
    DeviceMemory device_a(device, a);
    DeviceMemory device_b(device, b);
    DeviceMemory device_c(device, count * sizeof(float));
    device_c.poison();
    std::uint64_t addresses[] = {device_a.address(), device_b.address(), device_c.address()};
    auto n = static_cast<unsigned>(count);
    void* arguments[] = {&addresses[0], &addresses[1], &addresses[2], &n};
    Stream stream(device);
    code.function("add").launch({{(n + 255) / 256, 1, 1}, {256, 1, 1}, 0}, arguments, stream);
    stream.wait();
    const auto c = device_c.to_vector<float>();
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(c[i], a[i] + b[i]) << i;
  }

  std::function<void(StreamHandle)> spin(std::uint64_t& nanoseconds) {
    return [function = module.function("spin"), &nanoseconds](StreamHandle stream) {
      void* arguments[] = {&nanoseconds};
      function.launch({{1, 1, 1}, {1, 1, 1}, 0}, arguments, stream);
    };
  }
};

TEST_F(Gpu, IsDescribed) {
  const DeviceDescription& d = device.description();
  std::printf("%s: %s, sm_%d, %d multiprocessors, L2 %zu, shared %zu opt-in of %zu, memory %zu, driver %s\n",
              d.name.c_str(), d.model.c_str(), d.sm, d.multiprocessors, d.l2_bytes, d.shared_bytes_opt_in,
              d.shared_bytes_per_multiprocessor, d.memory_bytes,
              driver::text_of_version(d.driver_version).c_str());
  EXPECT_GE(d.sm, 75);
  EXPECT_GE(d.multiprocessors, 1);
  EXPECT_EQ(d.threads_per_block, 1024);
  EXPECT_GE(d.shared_bytes_opt_in, d.shared_bytes_per_block);
  EXPECT_GE(d.shared_bytes_per_multiprocessor, d.shared_bytes_opt_in);
  EXPECT_GE(d.registers_per_multiprocessor, 65536);
  EXPECT_GT(d.l2_bytes, 0U);
  EXPECT_EQ(d.block_limit, (std::array<int, 3>{1024, 1024, 64}));
  EXPECT_EQ(Device::devices().at(1).model, d.model);
}

TEST_F(Gpu, VectorAddByTheDriversCompiler) {
  check_add(module);
}

TEST_F(Gpu, VectorAddByPtxas) {
  if (!cuda::can_assemble()) GTEST_SKIP() << "no ptxas";
  cuda::AssembleOptions options;
  options.architecture = "sm_" + std::to_string(device.description().sm);
  check_add(Module::load(device, cuda::assemble(kernels, options).cubin));
}

TEST_F(Gpu, VectorAddFromCudaSource) {
  if (!cuda::compiler_status().found()) GTEST_SKIP() << cuda::compiler_status().sentence;
  cuda::CompileOptions options;
  options.architecture = "sm_" + std::to_string(device.description().sm);
  const std::string source =
      "extern \"C\" __global__ void add(const float* a, const float* b, float* c, unsigned n) {\n"
      "  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) c[i] = a[i] + b[i];\n}\n";
  check_add(Module::load(device, cuda::compile(source, options).image));
}

TEST_F(Gpu, PoisonAndFill) {
  DeviceMemory memory(device, 1 << 20);
  memory.poison();
  for (const float value : memory.to_vector<float>()) ASSERT_TRUE(std::isnan(value));
  memory.fill(0);
  for (const float value : memory.to_vector<float>()) ASSERT_EQ(value, 0);
  EXPECT_THROW(DeviceMemory(device, device.description().memory_bytes * 2), RuntimeError);
}

TEST_F(Gpu, ModuleErrors) {
  std::string broken = kernels;
  broken.replace(broken.find("add.f32"), 7, "adz.f32");
  try {
    Module::load(device, broken);
    FAIL();
  } catch (const RuntimeError& error) {
    EXPECT_THAT(error.what(), HasSubstr("adz"));
  }
  EXPECT_THROW(module.function("absent"), UserError);
  EXPECT_EQ(module.variable("table").bytes, 64U);
  EXPECT_THROW(module.variable("absent"), UserError);
}

TEST_F(Gpu, SharedMemoryBeyond48Kilobytes) {
  const Function function = module.function("shared");
  const std::size_t bytes = device.description().shared_bytes_opt_in;
  auto words = static_cast<unsigned>(bytes / 4);
  DeviceMemory out(device, bytes);
  out.poison();
  std::uint64_t address = out.address();
  void* arguments[] = {&address, &words};
  Stream stream(device);
  function.launch({{1, 1, 1}, {256, 1, 1}, bytes}, arguments, stream);
  stream.wait();
  const auto values = out.to_vector<unsigned>();
  for (unsigned i = 0; i < words; ++i) ASSERT_EQ(values[i], i);
  EXPECT_EQ(function.blocks_per_multiprocessor({{1, 1, 1}, {256, 1, 1}, bytes}), 1);
  EXPECT_THROW(function.launch({{1, 1, 1}, {256, 1, 1}, bytes + 1}, arguments, stream), UserError);
  EXPECT_THROW(function.launch({{1, 1, 1}, {1025, 1, 1}, 0}, arguments, stream), UserError);
}

TEST_F(Gpu, TimingByGraphAndByEvents) {
  std::uint64_t nanoseconds = 50000;
  TimingOptions options;
  for (const bool use_graph : {true, false}) {
    options.use_graph = use_graph;
    const Timing timing = time(device, spin(nanoseconds), options);
    std::printf("spin of 50 us by %s: median %.2f us, minimum %.2f, spread %.3f, %d x %d\n",
                timing.method.c_str(), timing.median, timing.minimum, timing.spread, timing.count,
                timing.repeats);
    EXPECT_GE(timing.median, 45);
    EXPECT_LE(timing.median, 70);
  }
  nanoseconds = 0;
  const Timing empty = time(device, spin(nanoseconds));
  std::printf("empty kernel by %s: median %.2f us\n", empty.method.c_str(), empty.median);
  EXPECT_LT(empty.median, 10);
}

TEST_F(Gpu, FlushingMakesReadsSlowerAndIsNotCounted) {
  // 16 MB in all: they fit in the L2 of every GPU of this kind, and take several microseconds from memory.
  const unsigned count = 1400000;
  DeviceMemory a(device, random_values(count, 1));
  DeviceMemory b(device, random_values(count, 2));
  DeviceMemory c(device, count * sizeof(float));
  const Function add = module.function("add");
  const auto launch = [&](StreamHandle stream) {
    std::uint64_t addresses[] = {a.address(), b.address(), c.address()};
    unsigned n = count;
    void* arguments[] = {&addresses[0], &addresses[1], &addresses[2], &n};
    add.launch({{(count + 255) / 256, 1, 1}, {256, 1, 1}, 0}, arguments, stream);
  };
  TimingOptions options;
  const Timing warm = time(device, launch, options);
  options.flush_l2 = true;
  options.rounds = 31;
  const Timing cold = time(device, launch, options);
  std::printf("add of %u: warm %.2f us (spread %.3f), flushed %.2f us (spread %.3f)\n", count, warm.median,
              warm.spread, cold.median, cold.spread);
  EXPECT_GT(cold.median, warm.median);
  EXPECT_LT(cold.median, warm.median + 40);

  std::uint64_t nanoseconds = 50000;
  const Timing spun = time(device, spin(nanoseconds), options);
  std::printf("spin of 50 us flushed: %.2f us\n", spun.median);
  EXPECT_NEAR(spun.median, 52, 8);
}

TEST_F(Gpu, AStuckKernelEndsInAnErrorAndTheDeviceGoesOn) {
  std::uint64_t nanoseconds = 800000000;
  const auto start = std::chrono::steady_clock::now();
  {
    const DeviceMemory left_alone(device, 1024);
    Stream stream(device);
    spin(nanoseconds)(stream);
    try {
      stream.wait(0.1);
      FAIL();
    } catch (const RuntimeError& error) {
      EXPECT_THAT(error.what(), HasSubstr("kernel did not finish within 0.1 s"));
    }
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  EXPECT_LT(spent.count(), 0.6) << "nothing may wait for the stuck kernel";
  usleep(1000000);
  check_add(module);
}

TEST_F(Gpu, AFailedKernelShowsInTheWait) {
  // In a process of its own: the context does not survive it.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto crash = [this] {
    try {
      Stream stream(device);
      module.function("crash").launch({}, {}, stream);
      stream.wait();
    } catch (const RuntimeError& error) {
      std::cerr << error.what() << std::endl;
      _exit(3);
    }
    _exit(0);
  };
  EXPECT_EXIT(crash(), ::testing::ExitedWithCode(3), "CUDA_ERROR_");
}

template <class T>
std::vector<T> converted(const std::vector<float>& values) {
  std::vector<T> all;
  for (const float value : values) all.push_back(T(value));
  return all;
}

/// Norm of the error over norm of the result, against a double loop over the operands as they were rounded.
template <class T>
double dense_error(const Dense& dense, const Device& device, const DenseProblem& p) {
  const auto m = static_cast<std::size_t>(p.m), n = static_cast<std::size_t>(p.n),
             k = static_cast<std::size_t>(p.k);
  const auto a = converted<T>(random_values(m * k, 3));
  const auto b = converted<T>(random_values(k * n, 4));
  DeviceMemory device_a(device, a);
  DeviceMemory device_b(device, b);
  DeviceMemory device_c(device, m * n * sizeof(T));
  device_c.poison();
  Stream stream(device);
  dense.multiply(p, device_a.address(), device_b.address(), device_c.address(), stream);
  stream.wait();
  const auto c = device_c.to_vector<T>();
  const bool linear = p.layout == DenseLayout::linear;
  double error = 0;
  double norm = 0;
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t l = 0; l < k; ++l) {
        sum += static_cast<double>(float(a[i * k + l])) *
               static_cast<double>(float(b[linear ? j * k + l : l * n + j]));
      }
      const double got = static_cast<double>(float(c[linear ? j * m + i : i * n + j]));
      error += (got - sum) * (got - sum);
      norm += sum * sum;
    }
  }
  return std::sqrt(error / norm);
}

TEST_F(Gpu, CublasAgreesWithADoubleLoop) {
  std::string reason;
  const auto dense = Dense::open(device, &reason);
  if (!dense) GTEST_SKIP() << reason;
  std::printf("%s\n", dense->version().c_str());
  for (const DenseLayout layout : {DenseLayout::row_major, DenseLayout::linear}) {
    DenseProblem problem{72, 40, 136, DenseType::f32, layout};
    EXPECT_LT(dense_error<float>(*dense, device, problem), 1e-6);
    problem.type = DenseType::tf32;
    EXPECT_LT(dense_error<float>(*dense, device, problem), 1e-3);
    problem.type = DenseType::f16;
    EXPECT_LT(dense_error<f16>(*dense, device, problem), 1e-3);
    problem.type = DenseType::bf16;
    EXPECT_LT(dense_error<bf16>(*dense, device, problem), 1e-2);
    problem = {37, 29, 51, DenseType::f32, layout};
    EXPECT_LT(dense_error<float>(*dense, device, problem), 1e-6);
  }
  EXPECT_THROW(dense->multiply({0, 1, 1}, 0, 0, 0, nullptr), UserError);
}

TEST_F(Gpu, CublasCanBeTimedInAGraph) {
  const auto dense = Dense::open(device);
  if (!dense) GTEST_SKIP() << "no cuBLAS";
  const DenseProblem problem{2048, 2048, 2048, DenseType::f16};
  const auto values = converted<f16>(random_values(2048 * 2048, 5));
  DeviceMemory a(device, values);
  DeviceMemory b(device, values);
  DeviceMemory c(device, values.size() * 2);
  const auto multiply = [&](StreamHandle stream) {
    dense->multiply(problem, a.address(), b.address(), c.address(), stream);
  };
  const Timing timing = time(device, multiply);
  std::printf("cuBLAS f16 2048^3 by %s: %.1f us, %.0f TFLOP/s\n", timing.method.c_str(), timing.median,
              2 * std::pow(2048.0, 3) / timing.median * 1e-6);
  EXPECT_EQ(timing.method, "graph");
  EXPECT_GT(timing.median, 5);
}

}  // namespace
}  // namespace weft

int main(int argument_count, char** arguments) {
  const weft::driver::Status& status = weft::driver::status();
  if (!status.ready()) {
    std::printf("[SKIP] %s\n", status.sentence.c_str());
    return 0;
  }
  ::testing::InitGoogleTest(&argument_count, arguments);
  return RUN_ALL_TESTS();
}
