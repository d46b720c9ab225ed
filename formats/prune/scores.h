// What the weights of a matrix are worth.
#pragma once

#include <weft/formats/weight_matrix.h>

#include <cstdint>
#include <span>
#include <vector>

namespace weft::pruning {

/// Values at the places of a weight. Borrows the places.
struct Scores {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::span<const std::int64_t> begin;  ///< rows + 1 offsets
  std::span<const std::int32_t> column;
  /// At least 0 and below 1: scaled by a power of two, so that no score of a 64-bit weight is too large.
  std::vector<float> value;
  double total = 0;

  /// Numbers of a row's entries.
  std::size_t first(std::int64_t row) const { return static_cast<std::size_t>(begin[row]); }
  std::size_t last(std::int64_t row) const {
    return static_cast<std::size_t>(begin[static_cast<std::size_t>(row) + 1]);
  }
};

/// |w|, or the given scores at the places of the weights. UserError as choose_weights says.
Scores scores_of(const WeightMatrix& weights, const WeightMatrix* given);

/// The `count` greatest values, of equal ones those that come first.
std::vector<bool> greatest(std::span<const float> values, std::int64_t count);

}  // namespace weft::pruning
