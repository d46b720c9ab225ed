#include <gtest/gtest.h>
#include <weft/search/model/classes.h>

namespace weft {
namespace {

TimingTable table_of(std::vector<std::vector<double>> times) {
  TimingTable table;
  for (std::size_t c = 0; c < times.front().size(); ++c)
    table.configurations.push_back({"r", {{"x", static_cast<std::int64_t>(c)}}});
  for (auto& line : times) {
    TimingTable::Problem problem;
    problem.matrix = std::to_string(table.problems.size());
    problem.microseconds = std::move(line);
    table.problems.push_back(std::move(problem));
  }
  return table;
}

constexpr double none = std::numeric_limits<double>::infinity();

TEST(Classes, the_fastest_ones) {
  const TimingTable table = table_of({{3, 1, 2}, {2, 2, 5}, {none, 7, 6}});
  EXPECT_EQ(fastest_classes(table, {0, 1, 2}), (std::vector<int>{1, 0, 2}));
  EXPECT_EQ(fastest_classes(table, {2}), (std::vector<int>{-1, -1, 2}));
  EXPECT_EQ(distinct({2, -1, 0, 2}), (std::vector<int>{0, 2}));
}

TEST(Classes, the_most_popular_within_the_threshold_covers_first) {
  // Three fastest configurations; number 1 is within 2 % of all but the last problem's.
  const TimingTable table = table_of({{1.00, 1.01, 9}, {9, 1.00, 9}, {9, 1.015, 1.00}, {1.00, 1.03, 9}});
  EXPECT_EQ(fastest_classes(table, {0, 1, 2, 3}), (std::vector<int>{0, 1, 2, 0}));
  EXPECT_EQ(normalised_classes(table, {0, 1, 2, 3}), (std::vector<int>{1, 1, 1, 0}));
  EXPECT_EQ(normalised_classes(table, {0, 1, 2, 3}, 0.95), (std::vector<int>{1, 1, 1, 1}));
  EXPECT_EQ(normalised_classes(table, {0, 1, 2, 3}, 1.0), (std::vector<int>{0, 1, 2, 0}));
}

TEST(Classes, popularity_is_counted_anew_among_the_rest) {
  // 0 covers problems 0 … 3. Of the rest 1 suits one problem, although it suits four at first; 2 suits two.
  const TimingTable table =
      table_of({{1, 1, 9}, {1, 1, 9}, {1, 1, 9}, {1, 9, 9}, {9, 1, 9}, {9, 9, 1}, {9, 9, 1}});
  const std::vector<int> labels = normalised_classes(table, {0, 1, 2, 3, 4, 5, 6});
  EXPECT_EQ(labels, (std::vector<int>{0, 0, 0, 0, 1, 2, 2}));
}

TEST(Classes, equally_popular_ones_are_taken_in_order) {
  const TimingTable table = table_of({{1, 1}, {1, 1}});
  EXPECT_EQ(normalised_classes(table, {0, 1}), (std::vector<int>{0, 0}));
}

TEST(Classes, training_sets_count_what_was_not_measured_as_ten_times_slower) {
  const TimingTable table = table_of({{1, 2, none}, {50, 1, 3}});
  const TrainingSet set = training_set(table, {0, 1}, {0, 1}, {0, 1, 2});
  EXPECT_EQ(set.slow_downs, (std::vector<double>{1, 2, 10, 10, 1, 3}));
  EXPECT_EQ(set.tried, (std::vector<bool>{true, true, false, true, true, true}));
  EXPECT_EQ(set.labels, (std::vector<int>{0, 1}));
  EXPECT_EQ(set.width, feature_count);
}

}  // namespace
}  // namespace weft
