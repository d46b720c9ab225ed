#include <gtest/gtest.h>
#include <weft/search/model/dense_bound.h>
#include <weft/search/model/known_error.h>

#include <vector>

namespace weft {
namespace {

ProblemSummary product(std::int64_t m, std::int64_t k, std::int64_t n, DType dtype) {
  ProblemSummary problem{.m = m, .k = k, .n = n, .dtype = dtype};
  problem.dense_elements = k * n;
  return problem;
}

/// `reads`: how many elements of the filter meet a pixel.
ProblemSummary convolution(std::int64_t m, std::int64_t k, std::int64_t n, std::int64_t reads, DType dtype) {
  ProblemSummary problem = product(m, k, n, dtype);
  problem.convolution = true;
  problem.dense_elements = k * n / reads;
  return problem;
}

double time_of(const ProblemSummary& problem) {
  return dense_bound(problem, ceilings_of(problem.dtype));
}

struct MeasuredDense {
  ProblemSummary problem;
  double microseconds;
};

// On an H200: lines of docs/measurements, of cuBLAS 13.1 and cuDNN 9.14.
TEST(DenseBound, comes_near_to_cublas_and_cudnn) {
  const std::vector<MeasuredDense> lines{
      {product(5120, 5120, 4096, DType::f16), 290},      {product(2048, 2048, 2048, DType::f16), 24.4},
      {product(4096, 1024, 512, DType::f16), 8.4},       {product(512, 2048, 128, DType::f16), 5.3},
      {product(512, 512, 4096, DType::f16), 5.8},        {product(5120, 5120, 16, DType::f16), 15.6},
      {product(13824, 5120, 8, DType::f16), 37.2},       {product(2048, 512, 8192, DType::f32), 355.7},
      {product(512, 512, 8192, DType::f32), 94.3},       {product(512, 2048, 256, DType::f32), 21.5},
      {product(512, 2048, 49, DType::f32), 9.5},         {product(64, 256, 3136, DType::f32), 8.1},
      {product(128, 64, 3136, DType::f32), 4.6},         {convolution(64, 576, 100352, 9, DType::f32), 121.4},
      {convolution(512, 4608, 784, 9, DType::f32), 67},  {convolution(256, 2304, 12544, 9, DType::f16), 29},
      {convolution(512, 4608, 784, 9, DType::f16), 13.3}};
  for (const MeasuredDense& line : lines) {
    const double ratio = line.microseconds / time_of(line.problem);
    const auto error = error_of_dense_bound(line.problem, target_named("sm_90a"));
    ASSERT_TRUE(error);
    EXPECT_GE(ratio, error->least) << line.problem.m << "x" << line.problem.k << "x" << line.problem.n;
    EXPECT_LE(ratio, error->most) << line.problem.m << "x" << line.problem.k << "x" << line.problem.n;
  }
}

TEST(DenseBound, kinds_are_those_of_the_library) {
  EXPECT_EQ(dense_kind_of(product(64, 64, 64, DType::bf16)), DenseKind::half_of_16);
  EXPECT_EQ(dense_kind_of(product(64, 64, 100, DType::f16)), DenseKind::half_of_4);
  EXPECT_EQ(dense_kind_of(product(64, 65, 64, DType::f16)), DenseKind::half_of_2);
  EXPECT_EQ(dense_kind_of(product(64, 64, 1, DType::f16)), DenseKind::vector);
  EXPECT_EQ(dense_kind_of(product(64, 65, 63, DType::f32)), DenseKind::singles);
  EXPECT_EQ(dense_kind_of(convolution(64, 576, 49, 9, DType::f16)), DenseKind::convolution_of_halves);
  EXPECT_EQ(dense_kind_of(convolution(64, 576, 49, 9, DType::f32)), DenseKind::convolution);
}

TEST(DenseBound, rows_that_are_no_multiple_of_16_bytes_take_longer) {
  EXPECT_GT(time_of(product(1024, 1024, 4095, DType::f16)),
            1.5 * time_of(product(1024, 1024, 4096, DType::f16)));
  EXPECT_GT(time_of(product(1024, 1021, 4096, DType::f16)),
            1.5 * time_of(product(1024, 1024, 4096, DType::f16)));
}

TEST(DenseBound, grows_with_every_size_and_on_smaller_devices) {
  for (const DType dtype : {DType::f16, DType::f32}) {
    double before = 0;
    for (const std::int64_t n : {8, 64, 512, 4096, 32768}) {
      const double now = time_of(product(1024, 1024, n, dtype));
      EXPECT_GT(now, before) << n;
      before = now;
    }
    const ProblemSummary large = product(4096, 4096, 4096, dtype);
    EXPECT_GT(dense_bound(large, ceilings_of(dtype, target_named("sm_80"))), time_of(large));
    EXPECT_GT(time_of(product(8192, 4096, 4096, dtype)), 1.7 * time_of(large));
    EXPECT_GT(time_of(product(4096, 8192, 4096, dtype)), 1.7 * time_of(large));
  }
}

}  // namespace
}  // namespace weft
