// Blocks and columns of groups of rows: what a structured format keeps or drops as a whole.
#pragma once

#include <weft/dsl/arithmetic.h>
#include <weft/formats/prune/scores.h>

#include <cstdint>
#include <vector>

namespace weft::pruning {

/// Rows shared out to groups of `height`; the last group has what is left.
struct Grouping {
  std::int64_t height = 1;
  std::vector<std::int32_t> group_of_row;

  std::int64_t rows() const { return std::ssize(group_of_row); }
  std::int64_t groups() const { return ceil_divide(rows(), height); }
  std::int64_t rows_in(std::int64_t group) const { return std::min(height, rows() - group * height); }
  /// The rows group by group, ascending inside each: a permutation.
  std::vector<std::int32_t> row_order() const;
};

/// Rows as they come.
Grouping neighbours(std::int64_t rows, std::int64_t height);

/// Whole units that were chosen.
struct Chosen {
  std::vector<bool> kept;  ///< by unit: group * columns + column, or block row * block columns + block column
  std::int64_t places = 0;
  double score = 0;
};

/// The columns of groups, or the blocks of `size` rows and columns, with the greatest mean score, as many as
/// fit into `budget` places, none that is worth nothing. Of equal ones those that come first.
Chosen best_vectors(const Scores& scores, const Grouping& grouping, std::int64_t budget);
Chosen best_blocks(const Scores& scores, std::int64_t size, std::int64_t budget);

}  // namespace weft::pruning
