// Lesson 5: a GPU kernel without a GPU.
//
// The simulator runs the PTX that weft emits, with CUDA's semantics, and reports what hardware hides. Here a
// kernel loses its barrier: on a GPU it would give right results most of the time.

#include <weft/backends/runtime/memory.h>
#include <weft/backends/runtime/module.h>
#include <weft/backends/simulator/device.h>
#include <weft/weft.h>

#include <iostream>

using namespace weft;

namespace {

/// The PTX without the barrier between the copy to shared memory and its use.
std::string without_barrier(std::string ptx) {
  const std::size_t at = ptx.rfind("bar.sync");
  return ptx.erase(at, ptx.find(';', at) + 1 - at);
}

/// An instruction that no GPU has, used in a kernel written by hand: fma and ReLU in one. It is a row of the
/// instruction table (scheduler/hardware/instructions/arithmetic.cpp) with its meaning and its cost.
constexpr const char* with_new_instruction = R"(
.version 8.0
.target sm_80
.address_size 64
.visible .entry layer(.param .u64 x, .param .u64 y)
{
  .reg .u64 %a<4>;
  .reg .u32 %t;
  .reg .f32 %f<3>;
  ld.param.u64 %a0, [x];
  ld.param.u64 %a1, [y];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %a2, %t, 4;
  add.u64 %a0, %a0, %a2;
  add.u64 %a1, %a1, %a2;
  ld.global.f32 %f0, [%a0];
  weft.fma.relu.f32 %f1, %f0, 0f40000000, 0fC1200000;
  st.global.f32 [%a1], %f1;
  ret;
}
)";

bool run_new_instruction() {
  const Device device = Device::simulator("sm_80");
  std::vector<float> x(32);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  const DeviceMemory input(device, x);
  const DeviceMemory output(device, x.size() * sizeof(float));
  const Function layer = Module::load(device, with_new_instruction).function("layer");
  std::uint64_t from = input.address(), to = output.address();
  void* arguments[] = {&from, &to};
  layer.launch({.grid = {1, 1, 1}, .block = {32, 1, 1}}, arguments, nullptr);
  const std::vector<float> y = output.to_vector<float>();
  std::cout << "max(2 x - 10, 0) by the new instruction, x = 4 … 8: ";
  for (std::size_t i = 4; i <= 8; ++i) std::cout << y[i] << ' ';
  std::cout << "\n" << simulator::last_estimate(device).text();
  return y[4] == 0 && y[8] == 6;
}

}  // namespace

int main() {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 2, sparse> A("A", {24, 48});
  const Tensor<f32, 2> B("B", {48, 40});
  const Tensor<f32, 2> C("C", {24, 40});
  const Algorithm product = algorithm("product", C(m, n) = sum(k, A(m, k) * B(k, n)));
  const WeightMatrix weights =
      synthetic_layer({.rows = 24, .columns = 48, .sparsity = 0.7, .dtype = DType::f32, .seed = 5});

  // A block takes eight rows and 32 columns; it copies those columns of B to shared memory first.
  Schedule on_gpu = schedule(product, pack(weights, formats::csr()), target_named("sm_80"));
  on_gpu.split(m = 8, n = 32)
      .reorder(m.outer, n.outer, m.inner, n.inner, k)
      .bind(m.outer, block_y)
      .bind(n.outer, block_x)
      .stage("B", shared, at = n.outer)
      .bind(m.inner, warp)
      .bind(n.inner, lane);
  const Kernel kernel = compile(on_gpu, {.assemble = false});

  // The same call as on a GPU, on another device.
  const Device device = Device::simulator("sm_80");
  Array b = random_array(DType::f32, {48, 40}, 1);
  Array c(DType::f32, {24, 40});
  const Arguments arguments{{{"B", &b}, {"C", &c}}, {}};
  const Verification verification = verify(kernel, device, arguments);
  std::cout << "the kernel on " << device.name() << ": " << verification.text() << "\n"
            << simulator::last_report(device).text() << "\n";

  // The same kernel with its barrier left out. Launches with findings fail; here the report is what we want.
  const Device tolerant = Device::simulator("sm_80");
  simulator::options(tolerant).tolerates_findings = true;
  const Kernel broken = kernel.with_ptx(without_barrier(kernel.ptx()));
  broken(tolerant, arguments);
  std::cout << "without its barrier:\n" << simulator::last_report(tolerant).text() << "\n";

  const bool found = !simulator::last_report(tolerant).clean();
  return run_new_instruction() && verification.passed && found ? 0 : 1;
}
