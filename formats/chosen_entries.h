// A part of a weight's entries as a weight of its own.
#pragma once

#include <weft/formats/weight_matrix.h>

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

/// Row i holds the entries of `weights` whose numbers are `entries[row_begin[i]]` to `entries[row_begin[i +
/// 1]]`, the last not among them: a number says where an entry stands in `weights.column` and
/// `weights.values`. Columns have to ascend inside a row. There may be other rows, and more or fewer of them,
/// than `weights` has: the first extent of the shape says how many.
WeightMatrix chosen_entries(const WeightMatrix& weights, std::vector<std::int64_t> row_begin,
                            std::span<const std::int64_t> entries);

}  // namespace weft
