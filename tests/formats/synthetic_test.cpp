#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/formats/random.h>
#include <weft/formats/statistics/statistics.h>
#include <weft/formats/synthetic.h>

#include <cmath>
#include <set>

#include "formats/generated_matrices.h"

namespace weft {
namespace {

/// FNV-1a over the positions and the bits of the values.
std::uint64_t fingerprint(const WeightMatrix& weights) {
  std::uint64_t hash = 14695981039346656037U;
  const auto add = [&](std::uint64_t value) {
    for (int i = 0; i < 8; ++i) hash = (hash ^ ((value >> (8 * i)) & 255U)) * 1099511628211U;
  };
  for (const std::int64_t offset : weights.row_begin) add(static_cast<std::uint64_t>(offset));
  for (const std::int32_t column : weights.column) add(static_cast<std::uint64_t>(column));
  for (std::size_t i = 0; i < weights.values.bytes(); ++i)
    add(static_cast<std::uint64_t>(weights.values.data()[i]));
  return hash;
}

double column_variation(const WeightMatrix& weights) {
  std::vector<double> length(static_cast<std::size_t>(weights.columns), 0);
  for (const std::int32_t column : weights.column) ++length[static_cast<std::size_t>(column)];
  const double mean = static_cast<double>(weights.stored()) / static_cast<double>(weights.columns);
  double squares = 0;
  for (const double each : length) squares += (each - mean) * (each - mean);
  return std::sqrt(squares / static_cast<double>(weights.columns)) / mean;
}

TEST(Synthetic, HasTheExactCountAndTheUsualSpread) {
  for (const auto& [sparsity, spread] :
       {std::pair{0.5, 0.08}, {0.7, 0.14}, {0.8, 0.195}, {0.9, 0.275}, {0.98, 0.4}}) {
    SCOPED_TRACE(sparsity);
    const WeightMatrix weights = synthetic_layer({.rows = 256, .columns = 2304, .sparsity = sparsity});
    EXPECT_NO_THROW(weights.check());
    EXPECT_EQ(weights.stored(), std::llround((1 - sparsity) * 256 * 2304));
    EXPECT_NEAR(statistics(weights).row_lengths.variation, spread, 0.1 * spread);
    const double density = 1 - sparsity;
    const double chance = std::sqrt((1 - density) / (density * 256));
    EXPECT_GT(column_variation(weights), 1.2 * chance);
  }
}

TEST(Synthetic, TakesAnotherSpread) {
  for (const double spread : {0.1, 0.5, 1.0}) {
    const WeightMatrix weights =
        synthetic_layer({.rows = 1024, .columns = 1024, .sparsity = 0.95, .row_spread = spread});
    EXPECT_NEAR(statistics(weights).row_lengths.variation, spread, 0.2 * spread);
  }
  const auto even = statistics(synthetic_layer({.rows = 100, .columns = 333, .row_spread = 0.0})).row_lengths;
  EXPECT_LE(even.longest - even.shortest, 1);
}

TEST(Synthetic, RowsDifferInPatternAndValues) {
  const WeightMatrix weights = synthetic_layer({.rows = 64, .columns = 576});
  std::set<std::vector<std::int32_t>> patterns;
  std::set<double> values;
  for (std::size_t row = 0; row < 64; ++row) {
    patterns.emplace(weights.column.begin() + weights.row_begin[row],
                     weights.column.begin() + weights.row_begin[row + 1]);
  }
  double squares = 0;
  for (std::int64_t i = 0; i < weights.stored(); ++i) {
    const double value = weights.values.get(i);
    EXPECT_NE(value, 0);
    values.insert(value);
    squares += value * value;
  }
  EXPECT_EQ(patterns.size(), 64U);
  EXPECT_GT(std::ssize(values), weights.stored() * 99 / 100);
  EXPECT_NEAR(squares / static_cast<double>(weights.stored()), 2.0 / 576, 0.1 * 2.0 / 576);
}

TEST(Synthetic, IsTheSameEverywhere) {
  EXPECT_EQ(fingerprint(synthetic_layer({.rows = 64, .columns = 576, .sparsity = 0.9, .seed = 1})),
            6629766019353891869U);
  EXPECT_EQ(
      fingerprint(synthetic_layer(
          {.rows = 33, .columns = 70, .sparsity = 0.6, .row_spread = 0.7, .dtype = DType::f16, .seed = 2})),
      8444121828189789604U);
  EXPECT_NE(fingerprint(synthetic_layer({.rows = 64, .columns = 576, .seed = 3})),
            fingerprint(synthetic_layer({.rows = 64, .columns = 576, .seed = 4})));
}

TEST(Synthetic, ReachesItsEnds) {
  EXPECT_EQ(synthetic_layer({.rows = 17, .columns = 31, .sparsity = 0}).stored(), 17 * 31);
  EXPECT_EQ(synthetic_layer({.rows = 17, .columns = 31, .sparsity = 1}).stored(), 0);
  EXPECT_EQ(synthetic_layer({.rows = 1, .columns = 1, .sparsity = 0.5}).stored(), 1);
  EXPECT_EQ(synthetic_layer({.rows = 0, .columns = 31}).stored(), 0);
  EXPECT_EQ(synthetic_layer({.rows = 31, .columns = 0}).stored(), 0);
  const WeightMatrix crowded =
      synthetic_layer({.rows = 50, .columns = 40, .sparsity = 0.1, .row_spread = 3.0});
  EXPECT_NO_THROW(crowded.check());
  EXPECT_EQ(crowded.stored(), 1800);
}

TEST(Synthetic, RefusesWhatItCannotMake) {
  EXPECT_THROW(synthetic_layer({.rows = -1}), UserError);
  EXPECT_THROW(synthetic_layer({.columns = std::int64_t{1} << 31}), UserError);
  EXPECT_THROW(synthetic_layer({.sparsity = 1.01}), UserError);
  EXPECT_THROW(synthetic_layer({.sparsity = std::nan("")}), UserError);
  EXPECT_THROW(synthetic_layer({.row_spread = -0.1}), UserError);
  EXPECT_THROW(synthetic_layer({.dtype = DType::i32}), UserError);
}

TEST(Random, IsXoshiroSeededBySplitMix) {
  Random random(0);
  EXPECT_EQ(random.bits(), 0x99EC5F36CB75F2B4U);
  EXPECT_EQ(random.bits(), 0xBF6E1F784956452AU);
  EXPECT_EQ(random.bits(), 0x1A5F849D4933E6E0U);
}

TEST(Random, HasItsDistributions) {
  Random random(12);
  double sum = 0;
  double squares = 0;
  std::vector<int> counts(7, 0);
  constexpr int draws = 200000;
  for (int i = 0; i < draws; ++i) {
    const double normal = random.normal();
    sum += normal;
    squares += normal * normal;
    ++counts[static_cast<std::size_t>(random.below(7))];
    const double uniform = random.uniform();
    ASSERT_TRUE(uniform >= 0 && uniform < 1);
  }
  EXPECT_NEAR(sum / draws, 0, 0.01);
  EXPECT_NEAR(squares / draws, 1, 0.02);
  for (const int count : counts) EXPECT_NEAR(count, draws / 7.0, 600);
}

TEST(RandomArray, KeepsItsRangeInEveryType) {
  for (int i = 0; i <= static_cast<int>(DType::boolean); ++i) {
    const auto dtype = static_cast<DType>(i);
    for (const RandomValues kind : {RandomValues::uniform, RandomValues::small_integers}) {
      const Array array = random_array(dtype, {100, 50}, 6, kind);
      EXPECT_TRUE(same_bits(array, random_array(dtype, {100, 50}, 6, kind)));
      EXPECT_FALSE(same_bits(array, random_array(dtype, {100, 50}, 7, kind)));
      const bool integers = kind == RandomValues::small_integers || !is_float(dtype);
      for (std::int64_t k = 0; k < array.size(); ++k) {
        const double value = array.get(k);
        if (integers) {
          ASSERT_TRUE(value == std::nearbyint(value) && std::abs(value) <= 4)
              << name_of(dtype) << " " << value;
        } else {
          ASSERT_TRUE(value >= -1 && value < 1) << name_of(dtype) << " " << value;
        }
      }
    }
  }
  EXPECT_EQ(random_array(DType::f32, {3, 0}, 1).size(), 0);
}

}  // namespace
}  // namespace weft
