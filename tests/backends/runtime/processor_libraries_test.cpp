// The dense libraries of the processor, those of them that this machine has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/backends/runtime/libraries/blas.h>
#include <weft/backends/runtime/libraries/onednn.h>
#include <weft/dsl/errors.h>

#include <cmath>
#include <random>
#include <vector>

namespace weft {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

std::vector<float> drawn(std::int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_int_distribution<int> digits(-8, 8);  // integers, so that sums are exact in any order
  std::vector<float> all(static_cast<std::size_t>(count));
  for (float& one : all) one = static_cast<float>(digits(engine));
  return all;
}

TEST(Blas, MultipliesInBothLayouts) {
  std::string reason;
  const std::vector<Blas> all = Blas::open_all(Device::cpu(), &reason);
  if (all.empty()) GTEST_SKIP() << "[SKIP] " << reason;
  constexpr std::int64_t m = 7, n = 5, k = 13;
  const std::vector<float> a = drawn(m * k, 1), b = drawn(k * n, 2);
  std::vector<float> b_of_linear(b.size());
  for (std::int64_t i = 0; i < k; ++i) {
    for (std::int64_t j = 0; j < n; ++j)
      b_of_linear[static_cast<std::size_t>(j * k + i)] = b[static_cast<std::size_t>(i * n + j)];
  }
  for (const Blas& blas : all) {
    EXPECT_THAT(blas.version(), HasSubstr(blas.name()));
    std::vector<float> c(m * n, NAN), c_of_linear(m * n, NAN);
    blas.multiply({m, n, k, DenseType::f32, DenseLayout::row_major}, a.data(), b.data(), c.data());
    blas.multiply({m, n, k, DenseType::f32, DenseLayout::linear}, a.data(), b_of_linear.data(),
                  c_of_linear.data());
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        float sum = 0;
        for (std::int64_t l = 0; l < k; ++l)
          sum += a[static_cast<std::size_t>(i * k + l)] * b[static_cast<std::size_t>(l * n + j)];
        EXPECT_EQ(c[static_cast<std::size_t>(i * n + j)], sum) << blas.version();
        EXPECT_EQ(c_of_linear[static_cast<std::size_t>(j * m + i)], sum) << blas.version();
      }
    }
  }
}

TEST(Blas, RefusesWhatItDoesNotTake) {
  const std::vector<Blas> all = Blas::open_all(Device::cpu());
  if (all.empty()) GTEST_SKIP() << "[SKIP] no library";
  EXPECT_THROW(all.front().multiply({0, 1, 1, DenseType::f32}, nullptr, nullptr, nullptr), UserError);
  EXPECT_THROW(all.front().multiply({1, 1, 1, DenseType::f16}, nullptr, nullptr, nullptr), UserError);
}

/// Everything at once: groups, stride, padding on one side that is cut, dilation.
DenseConvolution odd_convolution() {
  DenseConvolution c;
  c.batch = 2;
  c.channels = 4;
  c.filters = 6;
  c.groups = 2;
  c.image = {9, 8};
  c.filter = {3, 2};
  c.pad = {1, 2};
  c.stride = {2, 3};
  c.dilation = {1, 2};
  for (std::size_t i = 0; i < 2; ++i)
    c.output.at(i) =
        (c.image.at(i) + 2 * c.pad.at(i) - (c.filter.at(i) - 1) * c.dilation.at(i) - 1) / c.stride.at(i) + 1;
  return c;
}

/// Where an element lies: [outer, channels, rows, columns], or channels last.
std::size_t place(const std::array<std::int64_t, 4>& extents, const std::array<std::int64_t, 4>& at,
                  bool last) {
  const auto [outer, channel, row, column] = at;
  return static_cast<std::size_t>(
      last ? ((outer * extents[2] + row) * extents[3] + column) * extents[1] + channel
           : ((outer * extents[1] + channel) * extents[2] + row) * extents[3] + column);
}

std::vector<float> convolved(const DenseConvolution& c, const std::vector<float>& image,
                             const std::vector<float>& weights) {
  const std::int64_t of_group = c.channels / c.groups, filters_of_group = c.filters / c.groups;
  const std::array images{c.batch, c.channels, c.image[0], c.image[1]};
  const std::array filters{c.filters, of_group, c.filter[0], c.filter[1]};
  const std::array outputs{c.batch, c.filters, c.output[0], c.output[1]};
  std::vector<float> sums(static_cast<std::size_t>(c.batch * c.filters * c.output[0] * c.output[1]));
  for (std::int64_t b = 0; b < c.batch; ++b)
    for (std::int64_t f = 0; f < c.filters; ++f)
      for (std::int64_t p = 0; p < c.output[0]; ++p)
        for (std::int64_t q = 0; q < c.output[1]; ++q)
          for (std::int64_t i = 0; i < of_group; ++i)
            for (std::int64_t r = 0; r < c.filter[0]; ++r)
              for (std::int64_t s = 0; s < c.filter[1]; ++s) {
                const std::int64_t y = p * c.stride[0] + r * c.dilation[0] - c.pad[0];
                const std::int64_t x = q * c.stride[1] + s * c.dilation[1] - c.pad[1];
                if (y < 0 || y >= c.image[0] || x < 0 || x >= c.image[1]) continue;
                const std::int64_t channel = f / filters_of_group * of_group + i;
                sums[place(outputs, {b, f, p, q}, c.channels_last)] +=
                    weights[place(filters, {f, i, r, s}, c.channels_last)] *
                    image[place(images, {b, channel, y, x}, c.channels_last)];
              }
  return sums;
}

TEST(Onednn, ConvolvesWithEveryLayoutOfImages) {
  std::string reason;
  const std::optional<Onednn> onednn = Onednn::open(Device::cpu(), &reason);
  if (!onednn) GTEST_SKIP() << "[SKIP] " << reason;
  EXPECT_THAT(onednn->version(), ContainsRegex("oneDNN [23]\\."));
  for (const bool last : {false, true}) {
    for (const bool own : {false, true}) {
      DenseConvolution c = odd_convolution();
      c.channels_last = last;
      const std::vector<float> image = drawn(c.batch * c.channels * c.image[0] * c.image[1], 3);
      const std::vector<float> weights =
          drawn(c.filters * c.channels / c.groups * c.filter[0] * c.filter[1], 4);
      const std::vector<float> expected = convolved(c, image, weights);
      std::vector<float> output(expected.size(), NAN);
      c.image_address = reinterpret_cast<std::uint64_t>(image.data());
      c.weights_address = reinterpret_cast<std::uint64_t>(weights.data());
      c.output_address = reinterpret_cast<std::uint64_t>(output.data());
      const ProcessorConvolution prepared = onednn->prepare(c, own);
      prepared.run();
      prepared.bring_back();
      EXPECT_EQ(output, expected) << "channels last " << last << ", own images " << own;
    }
  }
  DenseConvolution halves = odd_convolution();
  halves.type = DenseType::f16;
  EXPECT_THROW(onednn->prepare(halves, false), UserError);
}

}  // namespace
}  // namespace weft
