#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/dsl/errors.h>
#include <weft/search/model/fitted_times.h>

#include <cmath>

#include "made_times.h"

namespace weft {
namespace {

std::vector<int> all_of(const TimingTable& table) {
  std::vector<int> numbers(table.configurations.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

TEST(FittedParts, finds_the_parts_that_there_are) {
  // Wide ranges of sizes, so that no two parts are the same.
  TimeParts truth{};
  truth[0] = 2.5;
  truth[2] = 0.07;
  truth[5] = 3e-7;
  truth[9] = 0.4;
  Random random(7);
  std::vector<TimeParts> rows;
  for (int i = 0; i < 200; ++i) {
    FeatureValues values{};
    for (const std::size_t size : {0, 1, 2}) values[size] = 6 + 7 * random.uniform();
    values[8] = 2000 * random.uniform() + 1;
    values[11] = 132;
    rows.push_back(time_parts({64, 64, 32, 1}, values));
    double time = 0;
    for (std::size_t part = 0; part < time_part_count; ++part) time += truth[part] * rows.back()[part];
    for (double& part : rows.back()) part /= time;
  }
  const TimeParts found = fitted_parts(rows);
  for (std::size_t part = 0; part < time_part_count; ++part)
    EXPECT_NEAR(found[part], truth[part], 1e-3 * truth[part] + 1e-6) << part_names()[part];
}

TEST(FittedParts, are_never_negative_and_take_what_says_the_same_once) {
  Random random(5);
  std::vector<TimeParts> rows;
  for (int i = 0; i < 60; ++i) {
    TimeParts row{};
    row[0] = row[3] = row[4] = 0.1 + random.uniform();
    row[1] = random.uniform();
    row[7] = 1 - row[1] / 2 + random.uniform();
    rows.push_back(row);
  }
  const TimeParts found = fitted_parts(rows);
  for (const double part : found) {
    EXPECT_GE(part, 0);
    EXPECT_TRUE(std::isfinite(part));
  }
  EXPECT_GT(found[0], 0);
  EXPECT_EQ(found[3] + found[4], 0);
  EXPECT_EQ(fitted_parts({}), TimeParts{});
}

TEST(FittedTimes, parts_are_those_of_the_tiles) {
  FeatureValues values{};
  values[0] = std::log2(100);
  values[1] = std::log2(1000);
  values[2] = std::log2(512);
  values[8] = 33;
  values[11] = 10;
  const TimeParts parts = time_parts({32, 128, 16, 2}, values);
  EXPECT_EQ(parts[0], 1);
  EXPECT_EQ(parts[1], 1.5);  // three tiles of kept columns, by two groups
  EXPECT_EQ(parts[3], 4 * 8 * 2 / 10.0);
  EXPECT_EQ(parts[2], parts[1] * parts[3]);
  EXPECT_EQ(parts[4], 512 * 1000);
  EXPECT_EQ(parts[5], 100 * 1000);
  EXPECT_EQ(parts[7], 7);
  EXPECT_EQ(parts[9], 4);
  EXPECT_EQ(parts[18], 1.5);
  const TileShape unknown = tile_shape({"sparsert", {{"groups", 0}}});
  EXPECT_EQ(unknown.m * unknown.n * unknown.k * unknown.groups, 1);
}

TEST(FittedTimes, foretell_times_of_sizes_that_they_have_not_seen) {
  const TimingTable table = tiled_times(120, 0);
  std::vector<std::size_t> known;
  for (std::size_t i = 0; i < table.problems.size(); i += 2) known.push_back(i);
  const FittedTimes times(table, known, all_of(table));
  EXPECT_EQ(times.kinds().size(), 3U);
  EXPECT_EQ(times.fits().size(), 3 * table.configurations.size());
  std::size_t near = 0, all = 0;
  for (std::size_t i = 1; i < table.problems.size(); i += 2) {
    const TimingTable::Problem& problem = table.problems[i];
    const auto ranking = times.ranking(problem.features);
    ASSERT_EQ(ranking.size(), table.configurations.size());
    EXPECT_TRUE(std::ranges::is_sorted(ranking, {}, &FittedTimes::Expected::microseconds));
    EXPECT_GT(problem.performance(ranking.front().number), 0.9) << problem.name;
    for (const auto& one : ranking) {
      near += std::abs(one.microseconds / problem.time(one.number) - 1) < 0.05 ? 1 : 0;
      ++all;
    }
  }
  EXPECT_GT(static_cast<double>(near), 0.95 * static_cast<double>(all));
}

TEST(FittedTimes, know_kinds_and_ranges) {
  const TimingTable table = tiled_times(60, 0);
  const FittedTimes times(table, numbers_below(table.problems.size()), all_of(table));
  for (const TimingTable::Problem& problem : table.problems) EXPECT_TRUE(times.covers(problem.features));
  EXPECT_EQ(times.features_that_differ(), std::vector<std::size_t>{4});
  EXPECT_EQ(features()[4].name, "V");
  FeatureValues other = table.problems.front().features;
  other[1] = 20;
  EXPECT_FALSE(times.covers(other));
  EXPECT_FALSE(times.ranking(other).empty());
  other[11] = 114;
  EXPECT_TRUE(times.ranking(other).empty());
  EXPECT_FALSE(FittedTimes().covers(other));
  EXPECT_TRUE(FittedTimes().features_that_differ().empty());
  EXPECT_THROW(FittedTimes({}, {FittedTimes::Fit{}}), InternalError);
}

TEST(FittedTimes, four_digits_are_kept) {
  const TimingTable table = tiled_times(60, 0.02);
  const FittedTimes times(table, numbers_below(table.problems.size()), all_of(table));
  for (const FittedTimes::Fit& fit : times.fits()) {
    for (const double part : fit.microseconds) {
      if (part == 0) continue;
      const double digits = part / std::pow(10.0, std::floor(std::log10(part)) - 3);
      EXPECT_NEAR(digits, std::round(digits), 1e-6) << part;
    }
  }
}

}  // namespace
}  // namespace weft
