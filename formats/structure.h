// Blocks and columns of groups that given weights are pruned by already.
#pragma once

#include <weft/formats/format.h>
#include <weft/formats/pattern_rules.h>
#include <weft/formats/weight_matrix.h>

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

/// A structure that a weight has.
struct FoundStructure {
  Format format;  ///< "bcsr:b=32", "vector_wise:V=64", "shfl_bw:V=64", "n_m", "v_n_m:V=64,M=16", "mixed"
  std::int64_t kept = 0;  ///< blocks, or columns of groups, with an entry; n_m, v_n_m: places that it leaves;
                          ///< mixed: tiles that are 2:4
  double density = 0;     ///< share of all blocks, columns of groups or places that is
  double fill = 0;        ///< stored entries / places of what is kept
  std::vector<std::int32_t> row_order;  ///< shfl_bw: the rows group by group
  PatternRule rule = {};                ///< n_m, v_n_m: how far it holds
};

/// The structures of largest granularity, of 8, 16, … 256: aligned blocks; aligned columns of groups, where
/// larger than the blocks; and columns of groups of shuffled rows, where larger than both. A weight has a
/// structure when at least nine tenths of the places that it keeps are stored, because trained weights may be
/// zero by chance, and when at least half of all that is not stored is outside of them, which a matrix that
/// is hardly pruned does not show. Groups of rows are looked for by the columns that the rows share; a short
/// group has to be the last. Nothing of these for weights of more than 2^24 columns.
///
/// Two of four columns, and for every M two of four columns that the rows of a block keep of M, with the
/// largest V, are a structure when nine tenths of the places that they leave are stored and the rule holds,
/// or nearly does, in nine tenths of the blocks. Tiles that are two of four beside others that are not are
/// one as mixed_tiles.h says.
std::vector<FoundStructure> find_structures(const WeightMatrix& weights);

/// "shfl_bw:V=64: 25.0 % of the columns of groups kept, 100.0 % filled", and of a rule that holds only nearly
/// the first place where it does not.
std::string text_of(const FoundStructure& structure);

}  // namespace weft
