// spmm_staged, for sm_80
//
//   computes  C[m, n] = sum(k, A[m, k] * B[k, n])
//   reads     A_begin[49], A_column[901], A_values[901], B[64][N]
//   writes    C[48][N]
//   grid      (12, (N + 63) / 64, 1) blocks
//   block     128 threads
//   shared    16384 bytes, declared below

// Starts a copy of an aligned run to shared memory; of zeros where it lies outside.
template <int bytes>
__device__ __forceinline__ void copy_async(void* to, const void* from, bool inside = true) {
  const unsigned place = static_cast<unsigned>(__cvta_generic_to_shared(to));
  const int read = inside ? bytes : 0;
  if (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place), "l"(from), "r"(read)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(place), "l"(from),
                 "n"(bytes), "r"(read)
                 : "memory");
  }
}

// The copies started since the last group are a group.
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Until no more than `pending` groups of this thread are under way.
template <int pending>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

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
  if (n_outer * 64 + rest < N) {
    for (int B_shared_element0_rounds = 0; B_shared_element0_rounds < 2;
         ++B_shared_element0_rounds) {
      #pragma unroll
      for (int B_shared_element0_round = 0; B_shared_element0_round < 16;
           ++B_shared_element0_round) {
        copy_async<4>(&B_shared[(B_shared_element0_rounds * 16 + B_shared_element0_round) * 2 +
                                thread_index / 64][rest],
                      &B[((B_shared_element0_rounds * 16 + B_shared_element0_round) * 2 +
                          thread_index / 64) * N + n_outer * 64 + rest]);
      }
    }
  } else {
    for (int B_shared_element0_rounds = 0; B_shared_element0_rounds < 2;
         ++B_shared_element0_rounds) {
      #pragma unroll
      for (int B_shared_element0_round = 0; B_shared_element0_round < 16;
           ++B_shared_element0_round) {
        const int B_shared_element0 = B_shared_element0_rounds * 16 + B_shared_element0_round;
        B_shared[B_shared_element0 * 2 + thread_index / 64][rest] = 0.0f;
      }
    }
  }
  commit_copies();
  wait_for_copies<0>();
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
