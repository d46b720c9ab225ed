// What lane_streams and pair_words take, without packing them.
#pragma once

#include <weft/formats/weight_matrix.h>

#include <cstdint>

namespace weft::named {

/// Bytes that a kernel gets of lane_streams, or of pair_words, in streams of 512 columns: words and values. A
/// word is stored for every 32 or 64 columns of each row, kept or not.
std::int64_t bytes_of_streams(const WeightMatrix& weights, bool in_pairs);

}  // namespace weft::named
