// What weft_add_search compiles and runs: a schedule with a number left open.
#include <weft/weft.h>

using namespace weft;

int main(int count, char** arguments) {
  return search_program(count, arguments, [](const Target& target) {
    const std::int64_t M = 64, K = 32, N = 48;
    WEFT_INDEX(m);
    WEFT_INDEX(n);
    WEFT_INDEX(k);
    const Tensor<f32, 2, sparse> A("A", {M, K});
    const Tensor<f32, 2> B("B", {K, N}), C("C", {M, N});
    Schedule s =
        schedule(algorithm("product", C(m, n) = sum(k, A(m, k) * B(k, n))),
                 pack(synthetic_layer({.rows = M, .columns = K, .sparsity = 0.8}), formats::csr()), target);
    s.split(m = knob("rows", {4, 8, 16})).parallel(m.outer);
    return s;
  });
}
