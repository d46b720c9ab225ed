// Rows put into blocks of equal room.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

/// The rows of each block, so that none needs more than its room and there are few blocks: rows that need
/// most first, each to the block that has most room left. `needs` is what each row needs, 0 to `room`. Rows
/// of a block are in the order in which they are numbered, those that need nothing before the others. At
/// least one block; empty where a row needs more than there is room.
std::vector<std::vector<std::int32_t>> filled_blocks(std::span<const std::int64_t> needs, std::int64_t room);

}  // namespace weft
