// What ptxas says of the registers of a recipe's kernels, against what its space expects.
#pragma once

#include <weft/search/records/record_file.h>
#include <weft/search/spaces/space.h>

#include <cstdint>
#include <vector>

namespace weft {

/// For SpaceOptions::more_registers: by how many registers the kernels of the space's recipe and target
/// needed more than "expected registers" of the space says, the median over the records that know them, from
/// -64 to 64. What a thread put aside counts as needed, eight bytes a register. 0 where fewer than eight
/// records know, or the space expects nothing.
std::int64_t register_correction(const Space& space, const std::vector<StoredRecord>& records);

}  // namespace weft
