// Blocks and columns of groups that given weights are pruned by already.
#pragma once

#include <weft/formats/format.h>
#include <weft/formats/weight_matrix.h>

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

/// A structure that a weight has.
struct FoundStructure {
  Format format;                        ///< "bcsr:b=32", "vector_wise:V=64", "shfl_bw:V=64"
  std::int64_t kept = 0;                ///< blocks, or columns of groups, with an entry
  double density = 0;                   ///< share of all blocks, or columns of groups, that is
  double fill = 0;                      ///< stored entries / places of what is kept
  std::vector<std::int32_t> row_order;  ///< shfl_bw: the rows group by group
};

/// The structures of largest granularity, of 8, 16, … 256: aligned blocks; aligned columns of groups, where
/// larger than the blocks; and columns of groups of shuffled rows, where larger than both. A weight has a
/// structure when at least nine tenths of the places that it keeps are stored, because trained weights may be
/// zero by chance, and when at least half of all that is not stored is outside of them, which a matrix that
/// is hardly pruned does not show. Groups of rows are looked for by the columns that the rows share; a short
/// group has to be the last. Nothing for weights of more than 2^24 columns.
std::vector<FoundStructure> find_structures(const WeightMatrix& weights);

/// "shfl_bw:V=64: 25.0 % of the columns of groups kept, 100.0 % filled"
std::string text_of(const FoundStructure& structure);

}  // namespace weft
