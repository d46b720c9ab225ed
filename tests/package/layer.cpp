// What weft_add_kernel compiles and runs: a layer whose weights are compiled into the code.
#include <weft/weft.h>

using namespace weft;

int main(int count, char** arguments) {
  return export_program(count, arguments, [](const ExportRequest& request) {
    const std::int64_t M = std::stoll(request.parameter("rows")), K = 32;
    WEFT_INDEX(m);
    WEFT_INDEX(n);
    WEFT_INDEX(k);
    const Tensor<f32, 2, sparse> A("A", {M, K});
    const Tensor<f32, 2> B("B", {K, Extent::any("N")}), C("C", {M, Extent::any("N")});
    const Algorithm product = algorithm("product", C(m, n) = relu(sum(k, A(m, k) * B(k, n))));
    const auto weights = std::make_shared<const SparseTensor>(
        pack(synthetic_layer({.rows = M, .columns = K, .sparsity = 0.8}), formats::csr()));
    std::vector<PackageKernel> kernels;
    for (const Target& target : request.targets)
      kernels.push_back({compile(sparsert(product, weights, target)), 1, 4096});
    return kernels;
  });
}
