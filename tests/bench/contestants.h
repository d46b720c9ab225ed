// Products of a sparse and a dense matrix, f32, that weft is timed beside. All compute C = A B, row-major.
#pragma once

#include <weft/formats/weight_matrix.h>

#include <cstdint>
#include <functional>
#include <string>

namespace weft::bench {

/// One way to compute the product: `run` writes `c` (rows x n), again at each call.
struct Contestant {
  std::string name;
  std::function<void()> run;
};

Contestant eigen(const WeightMatrix& weights, const float* b, float* c, std::int64_t n);
/// The loop that a person writes with AVX-512 intrinsics: 64 columns of a row in four registers.
Contestant hand_written(const WeightMatrix& weights, const float* b, float* c, std::int64_t n, int threads);
/// XNNPACK's f32 SpMM, through its 1x1 convolution over channels-first images. Nothing to run where the
/// library is not there.
Contestant xnnpack(const WeightMatrix& weights, const float* b, float* c, std::int64_t n, int threads);

/// Rows [begin, end) of the hand-written loop.
void hand_written_rows(const std::int32_t* row_begin, const std::int32_t* column, const float* values,
                       const float* b, float* c, std::int64_t n, std::int64_t begin, std::int64_t end);

}  // namespace weft::bench
