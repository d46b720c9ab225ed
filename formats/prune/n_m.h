// Two weights of every four columns, and which four columns of a block of rows those are.
#pragma once

#include <weft/formats/prune/scores.h>

#include <cstdint>
#include <vector>

namespace weft::pruning {

/// Blocks of `height` rows and `width` columns, aligned to multiples of both, keep four columns each, and
/// each of their rows keeps two entries in those. Width 4 is plain 2:4, whatever the height.
struct FourOfBlock {
  std::int64_t height = 1;
  std::int64_t width = 4;  ///< from 4
};

/// The widest block for which every choice of four columns is tried; wider ones are searched.
constexpr std::int64_t widest_exhaustive = 20;

/// One for each entry: whether it stays. The four columns of a block are those that leave most score once
/// each row has kept its best two of them: all choices are tried where the block has entries in no more than
/// `widest_exhaustive` columns; otherwise the columns come one by one, each the one that adds most, and
/// change places with others, one at a time, as long as the score grows. Of equal choices the first columns
/// stay.
std::vector<char> best_two_of_four(const Scores& scores, FourOfBlock block);

}  // namespace weft::pruning
