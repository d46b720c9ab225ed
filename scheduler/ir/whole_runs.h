// How far a tile reaches, so that several of its elements are copied together.
#pragma once

#include <cstdint>

namespace weft {

struct Stretch {
  std::int64_t begin, extent;
};

/// Elements of a run of 8 bytes, which a copy by way of the first-level cache takes at once: runs of 16 pass
/// it by, and tiles of images were slower by them (docs/measurements.md).
std::int64_t run_of_tile(std::int64_t bytes_of_element);

/// What a tile takes of its last dimension of `whole` elements where it reaches over its ends: a run that
/// begins at a multiple of its length lies inside or outside of the dimension as a whole, so the tile's ends
/// move out to such multiples. It stays as it is where the dimension is no multiple, or a quarter would be
/// added.
Stretch in_whole_runs(const Stretch& tile, std::int64_t whole, std::int64_t bytes_of_element);

}  // namespace weft
