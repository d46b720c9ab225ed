// What a file says that its weights were pruned for.
#pragma once

#include <weft/formats/format.h>

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

/// It fits the weights that have it: the format holds them without loss.
struct PrunedFor {
  Format format;  ///< "shfl_bw:V=64", its V or b written out
  /// Of groups of rows, the rows group by group, the last group may be short; else empty.
  std::vector<std::int32_t> row_order = {};
};

/// Whether each of so many rows is there once.
bool is_row_order(std::span<const std::int32_t> order, std::int64_t rows);

/// The row order that the weights were pruned in, where whole groups of so many rows can be cut out of its
/// groups; else nothing.
std::span<const std::int32_t> row_order_in_groups(const WeightMatrix& weights, std::int64_t rows);

/// What weights have places for in groups of so many rows of an order: every row of a group has the columns
/// that any of them keeps.
std::int64_t places_in_groups(const WeightMatrix& weights, std::span<const std::int32_t> order,
                              std::int64_t rows);

}  // namespace weft
