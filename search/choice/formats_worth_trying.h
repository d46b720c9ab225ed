// Which formats are worth a look for weights that nobody named a format for.
#pragma once

#include <weft/formats/format.h>
#include <weft/formats/weight_matrix.h>
#include <weft/scheduler/hardware/target.h>

#include <cstdint>
#include <vector>

namespace weft {

/// Formats that hold the weights without loss and suit what was found in them, the most particular first:
/// what the file says that they were pruned for (pruned_for.h), where it is a pattern of blocks, or one of
/// tensor cores and elements that these take; two of four columns (V:2:M and 2:4) and groups of rows that
/// keep the same columns, for tensor cores, which f16 and bf16 have; streams for lanes where about a half is
/// kept without a pattern; blocks that are dense inside; dense
/// where little was pruned; and csr always. Formats that recipes make of csr on their own, padded_csr and
/// sliced_ell, are none of them. A few passes over the entries; nothing is packed.
std::vector<Format> formats_worth_trying(const WeightMatrix& weights);
/// Of these, the ones that recipes for the target take. On a CPU, groups of rows that keep the same columns
/// are of 16, 8 or 4 rows, in column_vectors, weights of many columns are in column_blocks too, those of f32
/// in column_windows, and what sparse tensor cores read is left out.
std::vector<Format> formats_worth_trying(const WeightMatrix& weights, const Target& target);

/// The largest of 128, 64, 32 and 16 for which three quarters of the rows are in groups of so many rows that
/// keep the same columns; 0 where there is none. After Huang et al., "Shfl-BW" (DAC 2022), section III: rows
/// of a group need not be neighbours.
std::int64_t rows_of_equal_groups(const WeightMatrix& weights);

}  // namespace weft
