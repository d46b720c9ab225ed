// Two weights of every four columns in some tiles, and all weights of the others.
#pragma once

#include <weft/formats/prune/scores.h>

#include <cstdint>
#include <vector>

namespace weft::pruning {

/// Tiles of `height` rows and `width` columns, aligned to multiples of both; width a multiple of 4.
struct Tiles {
  std::int64_t height = 128, width = 64;
};

/// One for each entry: whether it stays. In tiles of which nothing is dropped all do, in the others the best
/// two of every four columns of a row. Those lose least for the places that they leave, as many of them as it
/// takes to leave `dropped` places without a weight, or all. A group of `height` rows has as many as every
/// other, or one more: the time of a product is that of the group which has fewest.
std::vector<char> best_mixed(const Scores& scores, Tiles tiles, std::int64_t dropped);

}  // namespace weft::pruning
