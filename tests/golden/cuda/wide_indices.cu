// spmm_wide, for sm_80
//
//   computes  C[m, n] = sum(k, A[m, k] * B[k, n])
//   reads     A_begin[49], A_column[901], A_values[901], B[64][67108864]
//   writes    C[48][67108864]
//   grid      (262144, 48, 1) blocks
//   block     32 threads

#include <cuda_fp16.h>

// Neighbouring elements, moved together: their address is a multiple of their size, up to 16 bytes.
template <class T, int count>
struct alignas(sizeof(T) * count < 16 ? sizeof(T) * count : 16) Vector {
  T elements[count];
  __device__ __forceinline__ T& operator[](int i) { return elements[i]; }
  __device__ __forceinline__ const T& operator[](int i) const { return elements[i]; }
};

template <int count, class T>
__device__ __forceinline__ Vector<T, count> load_vector(const T* from) {
  return *reinterpret_cast<const Vector<T, count>*>(from);
}

template <int count, class T>
__device__ __forceinline__ void store_vector(T* to, const Vector<T, count>& elements) {
  *reinterpret_cast<Vector<T, count>*>(to) = elements;
}

extern "C" __global__ void __launch_bounds__(32) spmm_wide(
    const int* __restrict__ A_begin,
    const int* __restrict__ A_column,
    const __half* __restrict__ A_values,
    const __half* __restrict__ B,
    __half* __restrict__ C) {
  const long long m = blockIdx.y;
  const long long n_outer = blockIdx.x;
  const long long n_inner_outer = threadIdx.x;
  float sum[8];
  #pragma unroll
  for (long long n_inner_inner = 0; n_inner_inner < 8; ++n_inner_inner) {
    sum[n_inner_inner] = 0.0f;
  }
  for (long long k = A_begin[m]; k < A_begin[m + 1]; ++k) {
    const auto B_vector =
        load_vector<8>(&B[(long long)A_column[k] * 67108864 + n_outer * 256 + n_inner_outer * 8]);
    #pragma unroll
    for (long long n_inner_inner = 0; n_inner_inner < 8; ++n_inner_inner) {
      sum[n_inner_inner] = __fmaf_rn(__half2float(A_values[k]),
                                     __half2float(B_vector[n_inner_inner]), sum[n_inner_inner]);
    }
  }
  Vector<__half, 8> C_vector;
  #pragma unroll
  for (long long n_inner_inner = 0; n_inner_inner < 8; ++n_inner_inner) {
    C_vector[n_inner_inner] = __float2half_rn(sum[n_inner_inner]);
  }
  store_vector(&C[m * 67108864 + n_outer * 256 + n_inner_outer * 8], C_vector);
}
