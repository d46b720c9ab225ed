// What illegal uses of recipes start from.
#pragma once

#include <weft/search/spaces/problems.h>
#include <weft/weft.h>

#include <memory>

namespace weft::tests {

/// 128 x 96 weights.
inline WeightMatrix matrix(DType dtype = DType::f32) {
  return synthetic_layer({.rows = 128, .columns = 96, .sparsity = 0.8, .dtype = dtype, .seed = 3});
}
/// The same in a format.
inline std::shared_ptr<const SparseTensor> as(const Format& format, DType dtype = DType::f16) {
  return std::make_shared<const SparseTensor>(pack(matrix(dtype), format));
}

/// C[m, n] = A[m, k] B[k, n] of them and 256 columns.
inline Algorithm product(DType dtype = DType::f16) {
  return spmm_algorithm(128, 96, 256, dtype);
}

inline const Target& gpu() {
  return target_named("sm_90a");
}

/// C[m, n] = A[m, k] B[k, n] of 64 x 2048 weights and 1024 columns.
inline Schedule wide_product() {
  const WeightMatrix matrix = synthetic_layer({.rows = 64, .columns = 2048, .sparsity = 0.9, .seed = 3});
  return schedule(spmm_algorithm(64, 2048, 1024, DType::f32), pack(matrix, formats::csr()),
                  target_named("sm_80"));
}

}  // namespace weft::tests
