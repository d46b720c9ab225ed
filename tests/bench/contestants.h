// Products of a sparse and a dense matrix, f32, that weft is timed beside. All compute C = A B.
#pragma once

#include <weft/formats/weight_matrix.h>

#include <cstdint>
#include <functional>
#include <string>

namespace weft::bench {

/// One way to compute the product.
struct Contestant {
  std::string name;
  /// Computes it, again at each call.
  std::function<void()> run;
  /// Brings the result to `c`, row-major, where `run` keeps it elsewhere; empty where it does not.
  std::function<void()> collect = {};
};

/// Eigen as its users write it: the dense operands are MatrixXf (column-major), compiled with the build's
/// default flags, so for any x86-64.
Contestant eigen_default(const WeightMatrix& weights, const float* b, float* c, std::int64_t n, int threads);
/// Eigen at its best here: row-major dense operands, compiled with -O3 -march=native.
Contestant eigen_native(const WeightMatrix& weights, const float* b, float* c, std::int64_t n, int threads);
/// The loop that a person writes with AVX-512 intrinsics: 64 columns of a row in four registers.
Contestant hand_written(const WeightMatrix& weights, const float* b, float* c, std::int64_t n, int threads);
/// XNNPACK's f32 SpMM, through its 1x1 convolution over channels-first images. Nothing to run where the
/// library is not there.
Contestant xnnpack(const WeightMatrix& weights, const float* b, float* c, std::int64_t n, int threads);

/// Rows [begin, end) of the hand-written loop.
void hand_written_rows(const std::int32_t* row_begin, const std::int32_t* column, const float* values,
                       const float* b, float* c, std::int64_t n, std::int64_t begin, std::int64_t end);

}  // namespace weft::bench
