// spmm_csc, for sm_80
//
//   computes  C[m, n] = sum(k, A[m, k] * B[k, n])
//   reads     A_begin[65], A_row[901], A_values[901], B[64][N]
//   writes    C[48][N]
//   lent      sum[48][N]
//   grid      ((N + 63) / 64, 1, 1) blocks
//   block     64 threads

extern "C" __global__ void __launch_bounds__(64) spmm_csc(
    const int* __restrict__ A_begin,
    const int* __restrict__ A_row,
    const float* __restrict__ A_values,
    const float* __restrict__ B,
    float* __restrict__ C,
    float* __restrict__ sum,
    int N) {
  const int n_outer = blockIdx.x;
  const int n_inner = threadIdx.x;
  const int n = n_outer * 64 + n_inner;
  if (n < N) {
    for (int m = 0; m < 48; ++m) {
      sum[m * N + n] = 0.0f;
    }
    for (int k = 0; k < 64; ++k) {
      for (int m_stored = A_begin[k]; m_stored < A_begin[k + 1]; ++m_stored) {
        const int row = A_row[m_stored];
        sum[row * N + n] = __fmaf_rn(A_values[m_stored], B[k * N + n], sum[row * N + n]);
      }
    }
    for (int m = 0; m < 48; ++m) {
      C[m * N + n] = sum[m * N + n];
    }
  }
}
