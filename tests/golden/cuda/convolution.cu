// convolution, for sm_80
//
//   computes  O[b, f, p, q] = relu(sum(c, r, s, W[f, c, r, s] * I[b, c, 2*p + r - 1, q + s - 1]))
//   reads     W_begin[9], W_column[77], W_values[77], I[2][4][15][17]
//   writes    O[2][8][8][17]
//   grid      (8, 8, 2) blocks
//   block     32 threads

extern "C" __global__ void __launch_bounds__(32) convolution(
    const int* __restrict__ W_begin,
    const int* __restrict__ W_column,
    const float* __restrict__ W_values,
    const float* __restrict__ I,
    float* __restrict__ O) {
  const int b = blockIdx.z;
  const int f = blockIdx.y;
  const int p = blockIdx.x;
  const int q_inner = threadIdx.x;
  if (q_inner < 17) {
    float sum = 0.0f;
    for (int c_r_s = W_begin[f]; c_r_s < W_begin[f + 1]; ++c_r_s) {
      const int column = W_column[c_r_s];
      const int quotient = column / 3;
      const int rest = quotient % 3;
      const int rest2 = column % 3;
      const bool sum_counts = 0 <= p * 2 + rest - 1 && p * 2 + rest - 1 < 15 &&
          0 <= q_inner + rest2 - 1 && q_inner + rest2 - 1 < 17;
      const float sum_left = W_values[c_r_s];
      const float sum_right = I[b * 1020 + column / 9 * 255 +
                                min(max(p * 2 + rest - 1, 0), 14) * 17 +
                                min(max(q_inner + rest2 - 1, 0), 16)];
      sum = __fmaf_rn(sum_counts ? sum_left : 0.0f, sum_counts ? sum_right : 0.0f, sum);
    }
    const float value0 = sum;
    O[b * 1088 + f * 136 + p * 17 + q_inner] = value0 < 0.0f ? 0.0f : value0;
  }
}
