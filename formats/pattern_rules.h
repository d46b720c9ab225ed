// The rules of N:M and V:N:M weights, and how far given weights keep them.
#pragma once

#include <weft/formats/weight_matrix.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft {

/// A rule for blocks of v rows and m columns, aligned to multiples of both, those at the edges being smaller.
/// N:M (v == 1): a row stores at most n of them. V:N:M: the same in each row of the block, and the block
/// stores something in no more than four of its columns.
struct PatternRule {
  struct Break {
    std::int64_t row = 0;  ///< that stores too much; the first of the block where each row by itself is right
    std::int64_t column = 0;  ///< first of the block
    std::int64_t found = 0;   ///< stored entries of the row, or columns that the block uses
    bool in_a_row = true;
  };
  std::int64_t v = 1;
  std::int64_t n = 2;
  std::int64_t m = 4;
  std::int64_t blocks = 0;           ///< with an entry
  std::int64_t fulfilled = 0;        ///< those that keep the rule
  std::optional<Break> first_break;  ///< that of the first block: from the top, then from the left

  bool holds() const { return blocks == fulfilled; }
  /// Blocks that keep the rule / blocks with an entry; 1 without any.
  double share() const;
  std::string name() const;  ///< "2:4", "64:2:16"
};

/// Every N:M with N from 1 to half of M, both powers of two, M from 2 to 16; then 2:M for every V of 16, 32,
/// 64, 128 with every M of 4, 8, 10, 16, 20, 32, 40, 100. `weights` has to satisfy its invariants.
std::vector<PatternRule> pattern_rules(const WeightMatrix& weights);

/// Of the N:M rules that hold those that no other one implies; of the V:N:M rules the one of the largest V
/// for each M.
std::vector<PatternRule> strictest_rows(const std::vector<PatternRule>& rules);
std::vector<PatternRule> tallest_blocks(const std::vector<PatternRule>& rules);

/// Whether the weights keep 2:M, for v = 1, or V:2:M, with an entry at all; the first break ends the search,
/// so that weights without the pattern cost next to nothing.
bool keeps_two_of_four(const WeightMatrix& weights, std::int64_t v, std::int64_t m);
/// Of the V:2:M above 4 columns that the weights keep, with V and M of `pattern_rules`, the
/// one of most columns, which leaves the fewest to read, and then of most rows. Its blocks are not counted.
std::optional<PatternRule> widest_two_of_four(const WeightMatrix& weights);

/// "row 37 has 3 in columns 8 to 11, at most 2 allowed". There has to be a break.
std::string text_of_break(const PatternRule& rule);

}  // namespace weft
