#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/search/measure/checker.h>
#include <weft/search/measure/operands.h>

#include <limits>
#include <tuple>

namespace weft {
namespace {

using ::testing::HasSubstr;

Workload product(DType dtype = DType::f32) {
  SuiteProblem problem;
  problem.m = 40;
  problem.k = 64;
  problem.n = 10;
  return make_workload({problem, 0.8, 1}, dtype, {});
}

Workload convolution() {
  SuiteProblem problem;
  Convolution c;
  c.batch = 2;
  c.channels = 5;
  c.filters = 20;
  c.image = {6, 7};
  c.filter = {3, 3};
  c.pad = {1, 1};
  problem.convolution = c;
  problem.m = 20;
  problem.k = 45;
  problem.n = 2 * 42;
  return make_workload({problem, 0.7, 2}, DType::f32, {});
}

/// The output by f64, rounded to the type.
Array right_output(const Workload& workload) {
  const SparseTensor weights = pack(workload.matrix, formats::csr());
  Array b = *workload.b;
  Array c = workload.empty_output();
  Arguments arguments;
  arguments.tensors = {{"B", &b}, {"C", &c}};
  return reference(workload.algorithm, &weights, arguments).value.converted(workload.dtype);
}

TEST(Checker, PassesWhatIsRight) {
  for (const Workload& workload : {product(), product(DType::f16), convolution()}) {
    const Array right = right_output(workload);
    const DenseType arithmetic = workload.dtype == DType::f16 ? DenseType::f16 : DenseType::f32;
    const Check all = Checker(workload, 1e12).check(right, arithmetic, true);
    EXPECT_TRUE(all.passed) << all.reason;
    EXPECT_EQ(all.rows, workload.problem.m);
    const Checker sampling(workload, 1);
    EXPECT_FALSE(sampling.complete());
    const Check sample = sampling.check(right, arithmetic, true);
    EXPECT_TRUE(sample.passed) << sample.reason;
    EXPECT_EQ(sample.rows, 8);
    EXPECT_FALSE(sample.against_trusted);
  }
}

TEST(Checker, EveryWrongElementIsFoundWhereAllIsCompared) {
  const Workload workload = convolution();
  const Checker checker(workload, 1e12);
  const Array right = right_output(workload);
  for (const std::int64_t place : {std::int64_t{0}, right.size() / 2, right.size() - 1}) {
    Array wrong = right;
    wrong.set(place, wrong.get(place) + 0.01);
    EXPECT_THAT(checker.check(wrong, DenseType::f32).reason, HasSubstr("relative error"));
    wrong.set(place, std::numeric_limits<double>::quiet_NaN());
    EXPECT_THAT(checker.check(wrong, DenseType::tf32).reason, HasSubstr("not a number"));
  }
}

TEST(Checker, OutsideTheSampleTheTrustedResultDecides) {
  const Workload workload = product();
  Checker checker(workload, 1);
  const Array right = right_output(workload);
  Array wrong = right;
  wrong.set(10, wrong.get(10) + 1);  // row 1 of 40 is not in a sample of eight
  EXPECT_TRUE(checker.check(wrong, DenseType::f32).passed);
  Array unwritten = right;
  unwritten.set(10, std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(checker.check(unwritten, DenseType::f32).reason, HasSubstr("not a number"));
  checker.trust(right);
  EXPECT_THAT(checker.check(wrong, DenseType::f32).reason, HasSubstr("trusted"));
  EXPECT_FALSE(checker.check(unwritten, DenseType::f32).passed);
  EXPECT_TRUE(checker.check(right, DenseType::f32).against_trusted);
}

TEST(Checker, OfManyColumnsAndImagesAFewAreCompared) {
  SuiteProblem wide;
  wide.m = 12;
  wide.k = 30;
  wide.n = 1000;
  SuiteProblem images = convolution().problem;
  images.convolution->batch = 5;
  images.n = 5 * 42;
  for (const auto& [problem, in_sample, outside] :
       {std::tuple{wide, std::int64_t{0}, std::int64_t{1}},  // column 0 and 3 of the first row, not 1
        std::tuple{images, std::int64_t{0}, std::int64_t{2 * 20 * 42}}}) {
    const Workload workload = make_workload({problem, 0.5, 1}, DType::f32, {});
    const Array right = right_output(workload);
    Checker checker(workload, 1);
    EXPECT_TRUE(checker.check(right, DenseType::f32, true).passed);
    Array wrong = right;
    wrong.set(in_sample, wrong.get(in_sample) + 1);
    EXPECT_FALSE(checker.check(wrong, DenseType::f32).passed);
    wrong = right;
    wrong.set(outside, wrong.get(outside) + 1);
    EXPECT_TRUE(checker.check(wrong, DenseType::f32).passed);
    checker.trust(right);
    EXPECT_FALSE(checker.check(wrong, DenseType::f32).passed);
    const Checker all(workload, 1e12);
    EXPECT_TRUE(all.complete());
    EXPECT_FALSE(all.check(wrong, DenseType::f32).passed);
  }
}

TEST(Checker, LessPreciseArithmeticIsAllowedMoreButNotByTheStrict) {
  const Workload workload = product();
  const Checker checker(workload, 1e12);
  Array rounded = right_output(workload);
  for (std::int64_t i = 0; i < rounded.size(); ++i)
    rounded.set(i, rounded.get(i) * (1 + (i % 2 == 0 ? 5e-4 : -5e-4)));
  EXPECT_FALSE(checker.check(rounded, DenseType::f32).passed);
  EXPECT_TRUE(checker.check(rounded, DenseType::tf32).passed);
  EXPECT_THAT(checker.check(rounded, DenseType::tf32, true).reason, HasSubstr("to its magnitude"));
}

TEST(Operands, BatchInnermostAndBack) {
  Array images(DType::f32, {2, 3, 1, 2});
  for (std::int64_t i = 0; i < images.size(); ++i) images.set(i, static_cast<double>(i));
  const Array turned = laid_out(images, ImageLayout::chwn);
  EXPECT_THAT(turned.shape(), ::testing::ElementsAre(3, 1, 2, 2));
  EXPECT_THAT(turned.as<float>(), ::testing::ElementsAre(0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11));
  const Array back = channels_first(turned, ImageLayout::chwn);
  EXPECT_EQ(back.shape(), images.shape());
  EXPECT_THAT(back.as<float>(), ::testing::ElementsAreArray(images.as<float>()));
}

TEST(Operands, ChannelsLastAndBack) {
  const Array first = Array::of(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const Array last = channels_last(first, 2, 2, 3);
  EXPECT_THAT(last.as<float>(), ::testing::ElementsAre(1, 4, 2, 5, 3, 6, 7, 10, 8, 11, 9, 12));
  EXPECT_THAT(channels_last(last, 2, 3, 2).as<float>(), ::testing::ElementsAreArray(first.as<float>()));
}

TEST(Operands, AreUploadedOnce) {
  const Workload workload = convolution();
  const Operands operands(Device::cpu(), workload);
  const std::uint64_t address = operands.column();
  EXPECT_EQ(operands.column(), address);
  const auto* offsets = reinterpret_cast<const std::int32_t*>(operands.row_begin());
  EXPECT_EQ(offsets[workload.problem.m], workload.matrix.stored());
  operands.poison_c();
  EXPECT_TRUE(std::isnan(operands.download_c().get(3)));
  EXPECT_EQ(operands.download_c_channels_last().shape(), workload.empty_output().shape());
}

}  // namespace
}  // namespace weft
