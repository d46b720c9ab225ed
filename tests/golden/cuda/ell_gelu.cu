// linear, for sm_80
//
//   computes  C[m, n] = gelu(sum(k, A[m, k] * B[k, n]) + bias[m])
//   reads     A_column[960], A_values[960], B[64][N], bias[48]
//   writes    C[48][N]
//   grid      ((N + 127) / 128, 48, 1) blocks
//   block     128 threads
//   compile   with -fmad=false, or products and sums are rounded once instead of twice

// The smaller number; NaN if either is one.
__device__ __forceinline__ float minimum(float a, float b) {
  return isnan(a) || isnan(b) ? a + b : fminf(a, b);
}

// The larger number; NaN if either is one.
__device__ __forceinline__ float maximum(float a, float b) {
  return isnan(a) || isnan(b) ? a + b : fmaxf(a, b);
}

__device__ __forceinline__ float erf_f32(float x) {
  const float t1 = minimum(maximum(x, -4.0f), 4.0f);
  const float t2 = t1 * t1;
  const float t3 = __fmaf_rn(-2.7261424e-10f, t2, 2.7706815e-08f);
  const float t4 = __fmaf_rn(t3, t2, -2.101024e-06f);
  const float t5 = __fmaf_rn(t4, t2, -5.6925062e-05f);
  const float t6 = __fmaf_rn(t5, t2, -0.00073499064f);
  const float t7 = __fmaf_rn(t6, t2, -0.0029546f);
  const float t8 = __fmaf_rn(t7, t2, -0.016096033f);
  const float t9 = __fmaf_rn(-1.45660715e-05f, t2, -0.00021337405f);
  const float t10 = __fmaf_rn(t9, t2, -0.001682827f);
  const float t11 = __fmaf_rn(t10, t2, -0.0073733293f);
  const float t12 = __fmaf_rn(t11, t2, -0.014264739f);
  return __fdiv_rn(t1 * t8, t12);
}

extern "C" __global__ void __launch_bounds__(128) linear(
    const int* __restrict__ A_column,
    const float* __restrict__ A_values,
    const float* __restrict__ B,
    const float* __restrict__ bias,
    float* __restrict__ C,
    int N) {
  const int m = blockIdx.y;
  const int n_outer = blockIdx.x;
  const int n_inner = threadIdx.x;
  const int n = n_outer * 128 + n_inner;
  if (n < N) {
    float sum = 0.0f;
    for (int k = 0; k < 20; ++k) {
      const int column = A_column[m * 20 + k];
      const bool sum_counts = 0 <= column;
      const float sum_left = A_values[m * 20 + k];
      const float sum_right = B[max(column, 0) * N + n];
      sum = __fmaf_rn(sum_counts ? sum_left : 0.0f, sum_counts ? sum_right : 0.0f, sum);
    }
    const float value0 = sum + bias[m];
    C[m * N + n] = 0.5f * value0 * (1.0f + erf_f32(value0 * 0.70710677f));
  }
}
