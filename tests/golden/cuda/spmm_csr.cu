// spmm_csr, for sm_80
//
//   computes  C[m, n] = sum(k, A[m, k] * B[k, n])
//   reads     A_begin[49], A_column[901], A_values[901], B[64][N]
//   writes    C[48][N]
//   grid      (12, (N + 63) / 64, 1) blocks
//   block     128 threads

extern "C" __global__ void __launch_bounds__(128) spmm_csr(
    const int* __restrict__ A_begin,
    const int* __restrict__ A_column,
    const float* __restrict__ A_values,
    const float* __restrict__ B,
    float* __restrict__ C,
    int N) {
  const int m_outer = blockIdx.x;
  const int n_outer = blockIdx.y;
  const int m_inner = threadIdx.x / 32;
  const int m = m_outer * 4 + m_inner;
  const int n_inner_inner = threadIdx.x % 32;
  float sum[2];
  #pragma unroll
  for (int n_inner_outer = 0; n_inner_outer < 2; ++n_inner_outer) {
    sum[n_inner_outer] = 0.0f;
  }
  for (int k = A_begin[m]; k < A_begin[m + 1]; ++k) {
    #pragma unroll
    for (int n_inner_outer = 0; n_inner_outer < 2; ++n_inner_outer) {
      const int n_inner = n_inner_outer * 32 + n_inner_inner;
      const int n = n_outer * 64 + n_inner;
      sum[n_inner_outer] =
          __fmaf_rn(A_values[k], B[A_column[k] * N + min(n, N - 1)], sum[n_inner_outer]);
    }
  }
  #pragma unroll
  for (int n_inner_outer = 0; n_inner_outer < 2; ++n_inner_outer) {
    const int n_inner = n_inner_outer * 32 + n_inner_inner;
    const int n = n_outer * 64 + n_inner;
    if (n < N) {
      C[m * N + n] = sum[n_inner_outer];
    }
  }
}
