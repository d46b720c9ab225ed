// Rows that keep the same columns, found in weights.
#pragma once

#include <weft/formats/weight_matrix.h>

#include <cstdint>
#include <vector>

namespace weft {

/// A permutation of the rows: the first `rows` of it are the first group, and so on; the last group may have
/// fewer. Rows of a group keep as few columns together as a quick search finds. Where the weight is made of
/// groups that keep the same columns, those groups are found, whichever rows they have, and also where a few
/// of the kept values are zero. Groups that keep more columns come first, of equal ones that of the first
/// rows; a group that lacks rows comes last. Of weights that know the order of rows that they were pruned in
/// (pruned_for.h), the groups are those of that order. `rows` is at least 1.
std::vector<std::int32_t> group_rows(const WeightMatrix& weights, std::int64_t rows);

}  // namespace weft
