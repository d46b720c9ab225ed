#include "contestants.h"

#ifdef __AVX512F__
#include <immintrin.h>
#endif

namespace weft::bench {

void hand_written_rows(const std::int32_t* row_begin, const std::int32_t* column, const float* values,
                       const float* b, float* c, std::int64_t n, std::int64_t begin, std::int64_t end) {
#ifdef __AVX512F__
  for (std::int64_t first = 0; first < n; first += 64) {
    __mmask16 mask[4];
    for (int i = 0; i < 4; ++i) {
      const std::int64_t left = n - first - 16 * i;
      mask[i] = left >= 16 ? 0xFFFF : left <= 0 ? 0 : static_cast<__mmask16>((1U << left) - 1U);
    }
    for (std::int64_t row = begin; row < end; ++row) {
      __m512 sum[4] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps()};
      for (std::int32_t p = row_begin[row]; p < row_begin[row + 1]; ++p) {
        const __m512 value = _mm512_set1_ps(values[p]);
        const float* from = b + column[p] * n + first;
        for (int i = 0; i < 4; ++i)
          sum[i] = _mm512_fmadd_ps(value, _mm512_maskz_loadu_ps(mask[i], from + 16 * i), sum[i]);
      }
      for (int i = 0; i < 4; ++i) _mm512_mask_storeu_ps(c + row * n + first + 16 * i, mask[i], sum[i]);
    }
  }
#else
  for (std::int64_t row = begin; row < end; ++row) {
    for (std::int64_t j = 0; j < n; ++j) c[row * n + j] = 0;
    for (std::int32_t p = row_begin[row]; p < row_begin[row + 1]; ++p) {
      for (std::int64_t j = 0; j < n; ++j) c[row * n + j] += values[p] * b[column[p] * n + j];
    }
  }
#endif
}

}  // namespace weft::bench
