// The program of the README: sparse times dense with ReLU, compiled for the CPU, compared with the reference.
#include <weft/weft.h>

#include <iostream>

using namespace weft;

int main() {
  const std::int64_t M = 64, K = 96, N = 17;
  WEFT_INDEX(m);
  WEFT_INDEX(n);
  WEFT_INDEX(k);
  const Tensor<f32, 2, sparse> A("A", {M, K});
  const Tensor<f32, 2> B("B", {K, N}), C("C", {M, N});
  const Tensor<f32, 1> bias("bias", {M});
  const Algorithm linear = algorithm("linear", C(m, n) = relu(sum(k, A(m, k) * B(k, n)) + bias(m)));

  // Or read("ffn1.safetensors"): a layer of weft's own, as sparse as a pruned one.
  const WeightMatrix layer = synthetic_layer({.rows = M, .columns = K, .sparsity = 0.9});
  const auto weights = std::make_shared<const SparseTensor>(pack(layer, formats::csr()));

  const Schedule chosen = default_schedule(linear, weights, target_named("cpu"));
  std::cout << print(chosen.program()) << "\n";

  Array b = random_array(DType::f32, {K, N}, 1), v = random_array(DType::f32, {M}, 2), c(DType::f32, {M, N});
  const Kernel kernel = compile(chosen);
  const Verification result = verify(kernel, Device::cpu(), {{{"B", &b}, {"bias", &v}, {"C", &c}}, {}});
  std::cout << result.text() << "\n";
  return result.passed ? 0 : 1;
}
