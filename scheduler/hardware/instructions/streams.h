// What a warp does that takes weights from streams for its lanes (formats/lane_streams.h): rows of the
// instruction table.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft {

/// take_pairs: of a word, and the place in shared memory where the lane's stream is before the word, the four
/// registers of a tile of 16 x 16. Argument 0 has the bits of the word before those of the tile, arguments 1
/// to 4 the tile's. take_elements: likewise, with a place for each half of a register; arguments 0 to 4 are
/// about the low, 5 to 9 about the high ones.
inline constexpr std::string_view take_pairs = "take_pairs", take_elements = "take_elements";
/// The address of an element in shared memory, and four registers from there.
inline constexpr std::string_view shared_address = "shared_address", load_16_bytes = "load_16_bytes";
/// Elements between the rows of the tile from which lanes load so, whose rows are whole lines of 128 bytes:
/// four lanes read half a line of a row, and the next four of the next row meet them in no bank.
inline constexpr std::int64_t stream_rows_apart = 32;

}  // namespace weft
