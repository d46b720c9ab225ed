// Lesson 3: convolution is index arithmetic.
//
// A 3x3 convolution differs from a matrix product in one place: the dense operand is read at p + r - 1. Reads
// outside the image are zero, which is the padding. Formats, steps and back ends are the same.

#include <weft/weft.h>

#include <iostream>

using namespace weft;

int main() {
  constexpr std::int64_t filters = 32;
  constexpr std::int64_t channels = 16;
  constexpr std::int64_t height = 20;
  constexpr std::int64_t width = 30;

  WEFT_INDEX(b);
  WEFT_INDEX(f);
  WEFT_INDEX(p);
  WEFT_INDEX(q);
  WEFT_INDEX(c);
  WEFT_INDEX(r);
  WEFT_INDEX(s);
  const Tensor<f32, 4, sparse> W("W", {filters, channels, 3, 3});
  const Tensor<f32, 4> I("I", {2, channels, height, width});
  const Tensor<f32, 4> O("O", {2, filters, height, width});
  const Tensor<f32, 1> bias("bias", {filters});
  const Algorithm convolution =
      algorithm("convolution",
                O(b, f, p, q) = relu(sum(c, r, s, W(f, c, r, s) * I(b, c, p + r - 1, q + s - 1)) + bias(f)));
  std::cout << convolution.text() << "\n\n";

  WeightMatrix weights =
      synthetic_layer({.rows = filters, .columns = channels * 9, .sparsity = 0.9, .seed = 3});
  weights.shape = {filters, channels, 3, 3};

  // The loop over the stored weights of a filter is named after the three indices that it stands for. A tile
  // of the output row shares one walk over them.
  Schedule schedule_by_hand = schedule(convolution, pack(weights, formats::csr()), target_named("cpu"));
  schedule_by_hand.split(q = 32).reorder("c_r_s", q.inner).vectorize(q.inner).parallel(f);
  std::cout << ir::print(schedule_by_hand.program()) << "\n";

  Array image = random_array(DType::f32, {2, channels, height, width}, 7);
  Array offsets = random_array(DType::f32, {filters}, 8);
  Array output(DType::f32, {2, filters, height, width});
  const Arguments arguments{{{"I", &image}, {"bias", &offsets}, {"O", &output}}, {}};
  const Verification check = verify(compile(schedule_by_hand), Device::cpu(), arguments);
  std::cout << check.text() << "\n";
  return check.passed ? 0 : 1;
}
