// Lesson 4: one algorithm for the CPU and for GPUs, and a look at what comes out.
//
// Code for a GPU is made without a GPU and without a CUDA toolkit. Where ptxas is installed, it reports
// registers and spills; where a CUDA device is, the kernel runs there.

#include <weft/backends/runtime/driver.h>
#include <weft/weft.h>

#include <iostream>

using namespace weft;

namespace {

void print_beginning(const std::string& text, int lines) {
  std::size_t end = 0;
  while (lines-- > 0 && end != std::string::npos) end = text.find('\n', end == 0 ? 0 : end + 1);
  std::cout << text.substr(0, end) << "\n…\n\n";
}

}  // namespace

int main() {
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f16, 2, sparse> A("A", {128, 256});
  const Tensor<f16, 2> B("B", {256, Extent::any("N")});
  const Tensor<f16, 2> C("C", {128, Extent::any("N")});
  const Tensor<f16, 1> bias("bias", {128});
  // Products of f16 are summed in f32; the result is rounded once, when it is stored.
  const Algorithm linear = algorithm("linear", C(m, n) = gelu(sum(k, A(m, k) * B(k, n)) + bias(m)));
  const WeightMatrix weights =
      synthetic_layer({.rows = 128, .columns = 256, .sparsity = 0.8, .dtype = DType::f16, .seed = 4});

  // A warp takes a row, its lanes the columns, two each.
  Schedule on_gpu = schedule(linear, pack(weights, formats::csr()), target_named("sm_80"));
  on_gpu.split(m = 4, n = 64)
      .split(n.inner = 32)
      .reorder(n.outer, m.outer, m.inner, n.inner.inner, k, n.inner.outer)
      .bind(m.outer, block_x)
      .bind(n.outer, block_y)
      .bind(m.inner, warp)
      .bind(n.inner.inner, lane)
      .unroll(n.inner.outer);
  const Kernel kernel = compile(on_gpu);
  std::cout << kernel.explain() << "\n" << kernel.program_text() << "\n";
  print_beginning(kernel.ptx(), 24);
  std::cout << kernel.cuda_source() << "\n";

  Array b = random_array(DType::f16, {256, 100}, 7);
  Array offsets = random_array(DType::f16, {128}, 8);
  Array c(DType::f16, {128, 100});
  const Arguments arguments{{{"B", &b}, {"bias", &offsets}, {"C", &c}}, {}};

  // Without a GPU, the GPU schedule still runs: by its meaning, on the CPU.
  const Verification by_meaning = verify(compile(on_gpu, {.by_meaning = true}), Device::cpu(), arguments);
  std::cout << "on the CPU, by its meaning: " << by_meaning.text() << "\n";

  if (!driver::status().ready()) {
    std::cout << driver::status().sentence << "\n";
    return by_meaning.passed ? 0 : 1;
  }
  const Verification on_device = verify(kernel, Device::cuda(), arguments);
  std::cout << "on " << Device::cuda().description().model << ": " << on_device.text() << "\n";
  return by_meaning.passed && on_device.passed ? 0 : 1;
}
