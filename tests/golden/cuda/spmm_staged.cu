// spmm_staged, for sm_80
//
//   computes  C[m, n] = sum(k, A[m, k] * B[k, n])
//   reads     A_begin[49], A_column[901], A_values[901], B[64][N]
//   writes    C[48][N]
//   grid      (12, (N + 63) / 64, 1) blocks
//   block     128 threads
//   shared    16384 bytes, declared below

extern "C" __global__ void __launch_bounds__(128) spmm_staged(
    const int* __restrict__ A_begin,
    const int* __restrict__ A_column,
    const float* __restrict__ A_values,
    const float* __restrict__ B,
    float* __restrict__ C,
    int N) {
  const int m_outer = blockIdx.x;
  const int n_outer = blockIdx.y;
  __shared__ __align__(16) float B_shared[64][64];
  __syncthreads();
  const int thread_index = threadIdx.x;
  const int rest = thread_index % 64;
  const int quotient = thread_index / 64;
  if (n_outer * 64 + rest < N) {
    for (int B_shared_element0_rounds = 0; B_shared_element0_rounds < 2;
         ++B_shared_element0_rounds) {
      #pragma unroll
      for (int B_shared_element0_round = 0; B_shared_element0_round < 16;
           ++B_shared_element0_round) {
        const int B_shared_element0 = B_shared_element0_rounds * 16 + B_shared_element0_round;
        B_shared[B_shared_element0 * 2 + quotient][rest] =
            B[(B_shared_element0 * 2 + quotient) * N + n_outer * 64 + rest];
      }
    }
  } else {
    for (int B_shared_element0_rounds = 0; B_shared_element0_rounds < 2;
         ++B_shared_element0_rounds) {
      #pragma unroll
      for (int B_shared_element0_round = 0; B_shared_element0_round < 16;
           ++B_shared_element0_round) {
        const int B_shared_element0 = B_shared_element0_rounds * 16 + B_shared_element0_round;
        B_shared[B_shared_element0 * 2 + quotient][rest] = 0.0f;
      }
    }
  }
  __syncthreads();
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
      const int n_inner = n_inner_inner + n_inner_outer * 32;
      sum[n_inner_outer] =
          __fmaf_rn(A_values[k], B_shared[A_column[k]][n_inner], sum[n_inner_outer]);
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
