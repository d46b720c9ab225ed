// Lesson 1: a pruned matrix times a dense one.
//
// What is computed (the algorithm), how the weights are stored (the format) and how it runs (the schedule)
// are three separate things. This lesson writes the first, chooses the second, and leaves the third to weft.

#include <weft/weft.h>

#include <iostream>

using namespace weft;

int main() {
  // A pruned layer. `read("ffn1.safetensors")` gives one from a file; this one is generated, with the uneven
  // row lengths of a real pruned network.
  const WeightMatrix weights = synthetic_layer({.rows = 64, .columns = 147, .sparsity = 0.9, .seed = 1});
  std::cout << report_text(statistics(weights)) << "\n";

  // The algorithm: C[m, n] = sum over k of A[m, k] * B[k, n]. The number of columns is given at launch.
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 2, sparse> A("A", {64, 147});
  const Tensor<f32, 2> B("B", {147, Extent::any("N")});
  const Tensor<f32, 2> C("C", {64, Extent::any("N")});
  const Algorithm spmm = algorithm("spmm", C(m, n) = sum(k, A(m, k) * B(k, n)));
  std::cout << spmm.text() << "\n\n";

  // The format, and a schedule that is right for every algorithm, format and target.
  const auto packed = std::make_shared<const SparseTensor>(pack(weights, formats::csr()));
  const Kernel kernel = compile(default_schedule(spmm, packed, target_named("cpu")));
  std::cout << kernel.program_text() << "\n";

  // A kernel is called with host arrays by name. The same kernel serves any number of columns.
  for (const std::int64_t columns : {1, 49, 196}) {
    Array b = random_array(DType::f32, {147, columns}, 7);
    Array c(DType::f32, {64, columns});
    const Verification check = verify(kernel, Device::cpu(), {{{"B", &b}, {"C", &c}}, {}});
    std::cout << "N = " << columns << ": " << check.text() << "\n";
    if (!check.passed) return 1;
  }
}
