// How many entries of the weights bake_values writes out in one program: compilers take minutes for more.
#pragma once

#include <cstdint>

namespace weft {

/// For a GPU, each for every column of a thread.
inline constexpr std::int64_t most_baked_entries_of_gpu = 300'000;
/// For a CPU, each for every vector of a loop that is written out: 48 MB of code and values.
inline constexpr std::int64_t most_baked_entries_of_cpu = 4'000'000;

}  // namespace weft
