// Rows with entries in the same columns put together, as many in each group as there is room.
#pragma once

#include <weft/formats/prune/units.h>
#include <weft/formats/random.h>

#include <cstdint>
#include <functional>

namespace weft::pruning {

/// Balanced k-means of rows whose entries are all 1: the sum of the squared distances to the means of the
/// groups is made small, by the k-means++ choice of the first centroids and then by turns of rows changing
/// places and new means; when nothing moves any more, by turns in which a row's own share in its mean does
/// not count. The best grouping on the way is returned. `round` is called with 1, 2, … before each turn.
Grouping balanced_k_means(const Scores& mask, std::int64_t height, Random& random,
                          const std::function<void(std::int64_t)>& round);

}  // namespace weft::pruning
