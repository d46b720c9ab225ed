// How well rows fit groups, and rows that change places until they fit better.
#pragma once

#include <weft/formats/prune/scores.h>
#include <weft/formats/prune/units.h>

#include <cstdint>
#include <span>
#include <vector>

namespace weft::pruning {

/// One number for each group and column.
class Centroids {
 public:
  /// Groups that are worked on at once; their numbers of one column stand side by side.
  static constexpr std::int64_t lanes = 32;

  Centroids(std::int64_t groups, std::int64_t columns);

  std::int64_t groups() const { return groups_; }
  float& at(std::int64_t group, std::int64_t column) { return values_[place(group, column)]; }
  float at(std::int64_t group, std::int64_t column) const { return values_[place(group, column)]; }
  /// The `lanes` numbers of column 0 for the groups from `bundle * lanes` on; those of other columns follow.
  const float* bundle(std::int64_t number) const { return values_.data() + place(number * lanes, 0); }

 private:
  std::size_t place(std::int64_t group, std::int64_t column) const {
    return static_cast<std::size_t>((group / lanes * columns_ + column) * lanes + group % lanes);
  }
  std::int64_t groups_;
  std::int64_t columns_;
  std::vector<float> values_;
};

/// What a row is worth in a group.
class Affinity {
 public:
  /// The sum over a row's entries of value times the group's number of that column.
  Affinity(const Scores& scores, const Centroids& centroids);

  std::int64_t groups() const { return groups_; }
  std::int64_t rows() const { return rows_; }
  /// By row.
  std::span<float> of_group(std::int64_t group);
  std::span<const float> of_group(std::int64_t group) const;
  float at(std::int64_t group, std::int64_t row) const { return values_[group * rows_ + row]; }

 private:
  std::int64_t groups_;
  std::int64_t rows_;
  std::vector<float> values_;
};

/// Every row in the group that it fits best and that has room; those with most to lose choose first.
Grouping first_grouping(const Affinity& affinity, std::int64_t height);

/// The rows of the largest layers.
constexpr std::int64_t usual_rows = 16384;

/// Of `most` turns, each of which looks at every row in every group, those that so many rows get: all up to
/// usual_rows, and so many fewer beyond that a search still ends.
std::int64_t turns_for(std::int64_t rows, std::int64_t most);

/// Two rows of different groups change places wherever both together gain, until none do or a limit of passes
/// is reached. True when any did.
bool exchange_rows(const Affinity& affinity, Grouping& grouping);

}  // namespace weft::pruning
